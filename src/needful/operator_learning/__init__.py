"""Learn operators that predict only the changes necessary for reaching goals; one step per file."""
