"""Tables and figures from recorded results alone, beside the numbers that were published."""
