"""Graph neural network policies, trained to imitate demonstrations."""
