"""Learn samplers of continuous controller parameters from demonstrated transitions."""
