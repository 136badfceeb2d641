"""Measurements against peers, each on the same data and in the same run."""
