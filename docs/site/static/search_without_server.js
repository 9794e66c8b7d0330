// Search results show the text around a match. Browsers cannot read that text if the site was opened from files.
DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = location.protocol !== "file:";
