"""Collect demonstrations and replays, and convert recorded episodes."""
