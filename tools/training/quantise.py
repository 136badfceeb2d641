"""Writes a trained model as int8, in the file format of `anamnesis.meaning.model`. Needs only numpy.

python -m tools.training.quantise trained.npz model.safetensors
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
_TYPES = {"<f4": "F32", "<f2": "F16", "|i1": "I8"}
# The smallest float16, used in place of the scale 0 of a row of zeros.
_SMALLEST = np.float32(6e-8)


def quantised(weights: Mapping[str, NDArray[np.float32]]) -> Arrays:
    """Every matrix as rows of int8 with one float16 scale each; vectors unchanged."""
    found: Arrays = {}
    for name, values in weights.items():
        if values.ndim < 2:
            found[name] = values.astype(np.float32)
        else:
            scales = (np.abs(values).max(axis=1, keepdims=True) / 127 + 1e-12).astype(np.float16)
            rows = np.rint(values / np.maximum(scales.astype(np.float32), _SMALLEST))
            found[f"{name}.q"], found[f"{name}.s"] = np.clip(rows, -127, 127).astype(np.int8), scales
    return found


def dequantised(arrays: Arrays) -> dict[str, NDArray[np.float32]]:
    """The weights that a model computes with."""
    found = {name: values for name, values in arrays.items() if not name.endswith((".q", ".s"))}
    for name in (name[:-2] for name in arrays if name.endswith(".q")):
        found[name] = arrays[f"{name}.q"] * arrays[f"{name}.s"].astype(np.float32)
    return found


def safetensors(arrays: Arrays) -> bytes:
    """The file: the length of a JSON header, the header, the arrays; the widest types first, then by name."""
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    header: dict[str, dict[str, object]] = {}
    end = 0
    for name in names:
        start, end = end, end + arrays[name].nbytes
        dtype, shape = _TYPES[arrays[name].dtype.str], list(arrays[name].shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(arrays[name].tobytes() for name in names)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: python -m tools.training.quantise TRAINED.npz MODEL.safetensors", file=sys.stderr)
        return 2
    with np.load(arguments[0]) as weights:
        data = safetensors(quantised(dict(weights)))
    Path(arguments[1]).write_bytes(data)
    print(f"{arguments[1]}: {len(data):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
