"""The embedding model: a transformer of four layers in numpy. docs/meaning.md describes its file and its recipe."""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anamnesis.meaning.wordpiece import WordPiece

Vectors = NDArray[np.float32]
Tensors = dict[str, NDArray[Any]]

WIDTH = 384
_HEADS = 12
_QUERY, _PASSAGE = 1, 101
_MOST_QUERY_PIECES, _MOST_PASSAGE_PIECES = 64, 256
# Word pieces per block: the activations of more do not fit into a core's cache.
_BLOCK = 512
# Word pieces per batch, for which the matrices are converted once.
_BATCH = 8 * _BLOCK
_EPSILON = np.float32(1e-12)
_SLOPE = np.float32(-1.702)
_ONE = np.float32(1)
_MEAN = np.full(WIDTH, 1 / WIDTH, np.float32)
_TYPES = {"I8": np.int8, "F16": np.float16, "F32": np.float32}


class Model:
    """Turns texts into vectors of length one, whose dot products are the closeness of the texts in meaning."""

    def __init__(self, model: bytes, vocabulary: str) -> None:
        arrays = tensors(model)
        self.pieces = WordPiece(vocabulary.splitlines())
        self._words, self._scales = arrays["we.weight.q"], arrays["we.weight.s"].astype(np.float32)
        self._up = _matrix(arrays, "up")
        self._positions: Vectors = np.ascontiguousarray((_matrix(arrays, "pe") + arrays["te"]).T)
        self._norm = _Norm(arrays, "ln")
        count = len({name.split(".")[1] for name in arrays if name.startswith("layers.")})
        self._layers = [_Layer(arrays, f"layers.{number}.") for number in range(count)]

    def query(self, text: str) -> Vectors:
        """The vector of a question."""
        return self._computed([[_QUERY, *self.pieces.ids(text, _MOST_QUERY_PIECES)]]).reshape(WIDTH)

    def passages(self, texts: Sequence[str]) -> Vectors:
        """The vectors of passages, one row for each."""
        ids = [[_PASSAGE, *self.pieces.ids(text, _MOST_PASSAGE_PIECES)] for text in texts]
        vectors = np.empty((len(texts), WIDTH), np.float32)
        for numbers in _batches(ids, _BATCH):
            vectors[numbers] = self._computed([ids[number] for number in numbers])
        return vectors

    def _computed(self, texts: list[list[int]]) -> Vectors:
        """The vectors of a batch, the shortest text first. The matrices of a layer are converted once per batch."""
        blocks = [self._block([texts[number] for number in some]) for some in _batches(texts, _BLOCK)]
        for layer in self._layers:
            layer(blocks)
        sums = np.concatenate([block.sums() for block in blocks])
        sums /= np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
        return sums

    def _block(self, texts: list[list[int]]) -> _Block:
        ends = np.cumsum([len(text) for text in texts]).tolist()
        spans = list(zip([0, *ends], ends, strict=False))
        ids = np.concatenate([np.asarray(text) for text in texts])
        x: Vectors = self._up @ (self._words[ids] * self._scales[ids]).T
        for start, end in spans:
            x[:, start:end] += self._positions[:, : end - start]
        return _Block(self._norm(x), spans)


@dataclass
class _Block:
    """Texts that are computed together. The word pieces are columns, without padding; `spans` has the texts' ranges."""

    x: Vectors
    spans: list[tuple[int, int]]

    def sums(self) -> Vectors:
        """The sum over each text's word pieces."""
        found: Vectors = np.add.reduceat(self.x, [start for start, _ in self.spans], axis=1).T
        return found


class _Layer:
    """Attention, then two dense matrices; after each, the input is added and the sum normalised."""

    def __init__(self, tensors: Tensors, name: str) -> None:
        # A third of the matrix computes the queries of the attention; their scaling is applied here once.
        scale = np.ones((3 * WIDTH, 1), np.float32)
        scale[:WIDTH] = (WIDTH // _HEADS) ** -0.5
        self._qkv = _Dense(tensors, f"{name}qkv", scale, scale)
        self._out = _Dense(tensors, f"{name}o")
        # The activation x · sigmoid(1.702 x) is y / (1 + exp y) / -1.702, where y = -1.702 x.
        self._dense = _Dense(tensors, f"{name}f1", _SLOPE, _SLOPE)
        self._back = _Dense(tensors, f"{name}f2", 1 / _SLOPE)
        self._norms = _Norm(tensors, f"{name}l1"), _Norm(tensors, f"{name}l2")

    def __call__(self, blocks: list[_Block]) -> None:
        dense = self._qkv, self._out, self._dense, self._back
        ready = [each.floats() if len(blocks) > 1 else None for each in dense]
        for block in blocks:
            y = self._out(_attended(self._qkv(block.x, ready[0]), block.spans), ready[1])
            y += block.x
            x = self._norms[0](y)
            inner = self._dense(x, ready[2])
            divisor = np.exp(inner)
            divisor += 1
            inner /= divisor
            y = self._back(inner, ready[3])
            y += x
            block.x = self._norms[1](y)


class _Dense:
    """A matrix stored as int8, in a quarter of the memory of floats."""

    def __init__(
        self, tensors: Tensors, name: str, scale: Vectors | np.float32 = _ONE, of_bias: Vectors | np.float32 = _ONE
    ) -> None:
        self._values = tensors[f"{name}.weight.q"]
        self._scale = tensors[f"{name}.weight.s"].astype(np.float32) * scale
        self._bias = tensors[f"{name}.bias"][:, None] * of_bias

    def floats(self) -> Vectors:
        """The matrix as floats, for several blocks."""
        found: Vectors = self._values * self._scale
        return found

    def __call__(self, x: Vectors, floats: Vectors | None) -> Vectors:
        if floats is not None:
            y: Vectors = floats @ x
        else:
            room = _SCRATCH.floats[: self._values.size].reshape(self._values.shape)
            np.copyto(room, self._values)
            y = room @ x
            y *= self._scale
        y += self._bias
        return y


class _Scratch(threading.local):
    """A buffer for one matrix as floats, which all share: unlike a whole layer, it fits into a core's cache."""

    def __init__(self) -> None:
        self.floats = np.empty(3 * WIDTH * WIDTH, np.float32)


_SCRATCH = _Scratch()


class _Norm:
    """Layer normalisation of columns, in place."""

    def __init__(self, tensors: Tensors, name: str) -> None:
        self._weight, self._bias = tensors[f"{name}.weight"][:, None], tensors[f"{name}.bias"][:, None]

    def __call__(self, x: Vectors) -> Vectors:
        x -= _MEAN @ x
        spread = np.einsum("ij,ij->j", x, x)
        spread *= np.float32(1 / WIDTH)
        spread += _EPSILON
        x *= 1 / np.sqrt(spread)
        x *= self._weight
        x += self._bias
        return x


def _attended(mixed: Vectors, spans: list[tuple[int, int]]) -> Vectors:
    """For each word piece, the average of the values of its text, weighted by how well query and key agree."""
    found = np.empty((WIDTH, mixed.shape[1]), np.float32)
    for start, end in spans:
        queries, keys, values = mixed[:, start:end].reshape(3, _HEADS, -1, end - start)
        weights = keys.swapaxes(1, 2) @ queries
        weights -= weights.max(1, keepdims=True)
        np.exp(weights, out=weights)
        average = found[:, start:end].reshape(_HEADS, -1, end - start)
        np.matmul(values, weights, out=average)
        average /= (np.ones(end - start, np.float32) @ weights)[:, None]
    return found


def _batches(texts: list[list[int]], most: int) -> Iterator[list[int]]:
    """The numbers of the texts, the shortest first, in groups of at most `most` pieces, or of a single longer text."""
    batch: list[int] = []
    pieces = 0
    for number in sorted(range(len(texts)), key=lambda number: len(texts[number])):
        if batch and pieces + len(texts[number]) > most:
            yield batch
            batch, pieces = [], 0
        batch.append(number)
        pieces += len(texts[number])
    if batch:
        yield batch


def _matrix(tensors: Tensors, name: str) -> Vectors:
    floats: Vectors = tensors[f"{name}.weight.q"] * tensors[f"{name}.weight.s"].astype(np.float32)
    return floats


def tensors(data: bytes) -> Tensors:
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
