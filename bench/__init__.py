"""Measurements against peers, each on the same data and in the same run."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `anamnesis.meaning` does, before numpy is imported
