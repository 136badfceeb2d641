"""One small module for each client that is played."""
