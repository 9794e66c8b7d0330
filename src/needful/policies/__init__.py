"""Policies that imitate demonstrations: a graph neural network says what to do next."""
