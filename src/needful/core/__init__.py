"""The vocabulary shared by all packages: types, states, atoms, operators, tasks, plans, models."""
