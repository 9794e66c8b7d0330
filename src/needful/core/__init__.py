"""The data types shared by all packages: types, states, atoms, operators, tasks, plans, models."""
