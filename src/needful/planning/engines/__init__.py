"""The search engines: the reference engine in Python, and the interface to the C++ engine."""
