"""Collect demonstrations and replays (random actions), and convert recorded episodes to demonstrations."""
