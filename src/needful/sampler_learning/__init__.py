"""From the transitions of operators to samplers of controller parameters."""
