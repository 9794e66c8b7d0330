"""The search engines: in Python (the reference), in C++, and third-party planners as subprocesses."""
