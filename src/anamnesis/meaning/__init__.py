"""Meaning: a small transformer that turns texts into vectors, run by numpy. Nothing here is imported by the hooks."""

# Changes with the model, with how passages are made, and with the tables of vectors.db.
VERSION = 2
