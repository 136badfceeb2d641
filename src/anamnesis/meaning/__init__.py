"""Meaning: a small transformer that turns texts into vectors, run by numpy. Nothing here is imported by the hooks."""

from __future__ import annotations

import os

# To be incremented when the model, the splitting into passages or the tables of vectors.db change.
VERSION = 2

# numpy is imported after this, with one thread. More threads would compete with searches for the cores while notes are
# embedded in the background, and would not speed up a query, whose matrices are small. The variables are OpenBLAS's, on
# Linux and Windows, and Accelerate's, on macOS.
for _variable in ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_variable, "1")
