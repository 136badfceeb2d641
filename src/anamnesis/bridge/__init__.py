"""The bridge: reconciles the notes of a home with the observations of an engram.db."""

import sqlite3

from anamnesis.errors import AnamnesisError

# Errors of one side that must not fail a call for the other: they are logged, and the change stays pending.
FAILURES = (AnamnesisError, OSError, sqlite3.Error, TypeError, ValueError)
