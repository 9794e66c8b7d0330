"""The baseline operator learners of the paper."""
