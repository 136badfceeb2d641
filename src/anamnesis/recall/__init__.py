"""Recall by words: the terms of a query, which of them decide the ranking, and if a note is about a prompt. Pure."""
