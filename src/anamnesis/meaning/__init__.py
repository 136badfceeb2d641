"""Meaning: a small transformer that turns texts into vectors, run by numpy. Nothing here is imported by the hooks."""
