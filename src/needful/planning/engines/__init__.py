"""The search engines: the Python reference and the binding of the C++ engine."""
