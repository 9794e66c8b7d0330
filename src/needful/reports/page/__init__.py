"""One page about recorded runs: what was learned and why, and every task to look at."""
