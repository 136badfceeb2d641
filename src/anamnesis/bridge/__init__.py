"""Notes and observations as one memory."""
