"""One run: learn from demonstrations, solve test tasks, and store the results in a folder."""
