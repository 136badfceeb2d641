"""The embedding model: a transformer of four layers in numpy. docs/meaning.md describes its file and its recipe."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anamnesis.meaning.wordpiece import WordPiece

Vectors = NDArray[np.float32]

WIDTH = 384
_HEADS = 12
_QUERY, _PASSAGE = 1, 101
_MOST_QUERY_PIECES, _MOST_PASSAGE_PIECES = 64, 256
# Word pieces computed together: the activations of more do not fit into a core's cache.
_BATCH = 512
_EPSILON = np.float32(1e-12)
_TYPES = {"I8": np.int8, "F16": np.float16, "F32": np.float32}


class Model:
    """Turns texts into vectors of length one, whose products tell how close the texts are in meaning."""

    def __init__(self, model: bytes, vocabulary: str) -> None:
        tensors = _tensors(model)
        self.pieces = WordPiece(vocabulary.splitlines())
        # The largest matrix stays in its small form, because a text uses few of its rows.
        self._words, self._scales = tensors["we.weight.q"], tensors["we.weight.s"].astype(np.float32)
        self._up = _matrix(tensors, "up.weight")
        self._positions: Vectors = _matrix(tensors, "pe.weight").T + tensors["te"]
        self._norm = _Norm(tensors, "ln")
        count = len({name.split(".")[1] for name in tensors if name.startswith("layers.")})
        self._layers = [_Layer(tensors, f"layers.{number}.") for number in range(count)]

    def query(self, text: str) -> Vectors:
        """The vector of a question."""
        return self._computed([[_QUERY, *self.pieces.ids(text, _MOST_QUERY_PIECES)]]).reshape(WIDTH)

    def passages(self, texts: Sequence[str]) -> Vectors:
        """The vectors of passages, one row for each."""
        ids = [[_PASSAGE, *self.pieces.ids(text, _MOST_PASSAGE_PIECES)] for text in texts]
        vectors = np.empty((len(texts), WIDTH), np.float32)
        for numbers in _batches([len(each) for each in ids]):
            vectors[numbers] = self._computed([ids[number] for number in numbers])
        return vectors

    def _computed(self, texts: list[list[int]]) -> Vectors:
        """The vectors of a batch. The texts follow each other without padding; only attention tells them apart."""
        lengths = [len(text) for text in texts]
        ends = np.cumsum(lengths).tolist()
        spans = list(zip([0, *ends], ends, strict=False))
        ids = np.concatenate([np.asarray(text) for text in texts])
        x = (self._words[ids] * self._scales[ids]) @ self._up
        for start, end in spans:
            x[start:end] += self._positions[: end - start]
        x = self._norm(x)
        for layer in self._layers:
            x = layer(x, spans)
        sums: Vectors = np.add.reduceat(x, [start for start, _ in spans])
        sums /= np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
        return sums


class _Layer:
    """Attention, then two dense matrices; after each, the input is added and the sum normalised."""

    def __init__(self, tensors: dict[str, NDArray[Any]], name: str) -> None:
        # A third of the matrix makes the queries of the attention, which are scaled here once and for all.
        scale = np.ones(3 * WIDTH, np.float32)
        scale[:WIDTH] = (WIDTH // _HEADS) ** -0.5
        self._qkv, self._qkv_bias = _matrix(tensors, f"{name}qkv.weight") * scale, tensors[f"{name}qkv.bias"] * scale
        self._out, self._out_bias = _matrix(tensors, f"{name}o.weight"), tensors[f"{name}o.bias"]
        self._dense, self._dense_bias = _matrix(tensors, f"{name}f1.weight"), tensors[f"{name}f1.bias"]
        self._back, self._back_bias = _matrix(tensors, f"{name}f2.weight"), tensors[f"{name}f2.bias"]
        self._norms = _Norm(tensors, f"{name}l1"), _Norm(tensors, f"{name}l2")

    def __call__(self, x: Vectors, spans: list[tuple[int, int]]) -> Vectors:
        mixed = x @ self._qkv
        mixed += self._qkv_bias
        y = _attended(mixed, spans) @ self._out
        y += self._out_bias
        y += x
        x = self._norms[0](y)
        inner = x @ self._dense
        inner += self._dense_bias
        y = _activated(inner) @ self._back
        y += self._back_bias
        y += x
        return self._norms[1](y)


class _Norm:
    """Layer normalisation, in place."""

    def __init__(self, tensors: dict[str, NDArray[Any]], name: str) -> None:
        self._weight, self._bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]

    def __call__(self, x: Vectors) -> Vectors:
        x -= (x @ _MEAN)[:, None]
        spread = np.einsum("ij,ij->i", x, x)
        spread *= np.float32(1 / WIDTH)
        spread += _EPSILON
        x *= (1 / np.sqrt(spread))[:, None]
        x *= self._weight
        x += self._bias
        return x


_MEAN = np.full(WIDTH, 1 / WIDTH, np.float32)


def _attended(mixed: Vectors, spans: list[tuple[int, int]]) -> Vectors:
    """For each word piece, the average of the values of its text, weighted by how well query and key agree."""
    found = np.empty((len(mixed), WIDTH), np.float32)
    for start, end in spans:
        heads = mixed[start:end].reshape(end - start, 3, _HEADS, -1)
        queries, keys, values = heads.transpose(1, 2, 0, 3)
        weights = queries @ keys.transpose(0, 2, 1)
        weights -= weights.max(-1, keepdims=True)
        np.exp(weights, out=weights)
        average = weights @ values
        average /= weights.sum(-1, keepdims=True)
        found[start:end].reshape(end - start, _HEADS, -1)[:] = average.transpose(1, 0, 2)
    return found


def _activated(x: Vectors) -> Vectors:
    """x · sigmoid(1.702 x), in place."""
    y = x * np.float32(-1.702)
    np.exp(y, out=y)
    y += 1
    x /= y
    return x


def _batches(lengths: list[int]) -> Iterator[list[int]]:
    """The numbers of the texts, the shortest first, in groups of at most `_BATCH` pieces or of one text."""
    batch: list[int] = []
    pieces = 0
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and pieces + lengths[number] > _BATCH:
            yield batch
            batch, pieces = [], 0
        batch.append(number)
        pieces += lengths[number]
    if batch:
        yield batch


def _matrix(tensors: dict[str, NDArray[Any]], name: str) -> Vectors:
    """A matrix as float32, transposed for multiplication from the left."""
    return np.ascontiguousarray((tensors[f"{name}.q"] * tensors[f"{name}.s"].astype(np.float32)).T)


def _tensors(data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a safetensors file: the length of a JSON header, the header, the bytes."""
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    return {
        name: np.frombuffer(
            data, _TYPES[each["dtype"]], int(np.prod(each["shape"])), 8 + size + each["data_offsets"][0]
        ).reshape(each["shape"])
        for name, each in header.items()
        if name != "__metadata__"
    }


@cache
def load() -> Model:
    """The model that comes with the program."""
    data = files("anamnesis.meaning") / "data"
    return Model((data / "model.safetensors").read_bytes(), (data / "vocab.txt").read_text("utf-8"))
