"""One run: the pipeline, the evaluation of test tasks, records and the run folder."""
