"""From a task to a plan: ground operators, search for abstract plans, refine them."""
