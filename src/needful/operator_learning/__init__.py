"""Learn operators that predict only what is necessary for reaching goals; one step of it a file."""
