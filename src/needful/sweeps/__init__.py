"""Many runs: jobs, executors, stored results and resuming."""
