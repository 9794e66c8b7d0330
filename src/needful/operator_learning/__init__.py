"""Learn operators that predict only the changes necessary to reach the goal."""
