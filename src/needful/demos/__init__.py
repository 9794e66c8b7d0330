"""Demonstrations: demonstrators, collection, recorded episodes and replays."""
