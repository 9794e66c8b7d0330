"""The vocabulary that every other part of the package speaks."""
