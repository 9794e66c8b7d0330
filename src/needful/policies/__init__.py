"""Graph neural network policies that imitate demonstrations."""
