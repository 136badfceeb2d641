"""Meaning: a small transformer that turns texts into vectors, run by numpy. Nothing here is imported by the hooks.

Importing it imports numpy with one thread. Several would make an embedding in the background compete with searches for
every core, and gain nothing on a query: its matrices are small.
"""

from __future__ import annotations

import os

# Read once, when the library is loaded: OpenBLAS on Linux and Windows, Accelerate on macOS.
_THREADS = ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def _import_numpy() -> None:
    """Import numpy. Child processes do not inherit the setting."""
    added = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        import numpy  # noqa: F401
    finally:
        for name in added:
            del os.environ[name]


_import_numpy()
