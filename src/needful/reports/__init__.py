"""Reports from recorded results: tables, figures and HTML pages."""
