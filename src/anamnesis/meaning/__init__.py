"""Meaning: a small transformer that turns texts into vectors, run by numpy. Nothing here is imported by the hooks."""

from __future__ import annotations

import os

# Changes with the model, with how passages are made, and with the tables of vectors.db.
VERSION = 2

# numpy is imported after this, with one thread: more would compete with searches for every core while notes are
# embedded in the background, and gain nothing on a query, whose matrices are small. OpenBLAS on Linux and Windows,
# Accelerate on macOS.
for _variable in ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_variable, "1")
