"""Collect demonstrations and replays (random actions), convert recorded episodes, and add imperfections."""
