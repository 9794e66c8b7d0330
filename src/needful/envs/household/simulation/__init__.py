"""The simulated house: MuJoCo model, physics, predicates and controllers."""
