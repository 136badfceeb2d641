"""Benchmarks: this program and its peers on the same data in the same run."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `anamnesis.meaning` does, before numpy is imported
