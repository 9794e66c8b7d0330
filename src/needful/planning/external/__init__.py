"""Third-party planners as subprocesses."""
