"""Learn samplers of controller parameters from the transitions of operators."""
