"""From a domain to a summary: the pipeline, its records, and how tasks are judged."""
