"""The figures of a report, one module per figure; `canvas` has the shared parts."""
