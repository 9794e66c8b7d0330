"""A page with a solved task in three dimensions, in one file that needs no network."""
