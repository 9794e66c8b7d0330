"""One figure a file: each turns groups of runs into a drawing."""
