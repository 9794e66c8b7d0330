"""From a task to a plan: ground, search for abstract plans, refine them."""
