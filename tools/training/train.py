"""Trains a student on pairs, and writes its weights for `tools.training.quantise`. README.md has the two runs.

python -m tools.training.train --pairs pairs.jsonl --bge bge.safetensors --minilm minilm.safetensors --out first.npz
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from anamnesis.meaning.model import tensors
from anamnesis.meaning.wordpiece import WordPiece
from tools.training.pairs import Pair, read
from tools.training.quantise import dequantised
from tools.training.student import Network, student_from, student_of, teacher, weights_of

_QUERY, _PASSAGE, _END = 1, 101, 102
_MOST_QUERY_PIECES = 40
_RATE, _DECAY, _WARM_UP, _CLIP = 6e-4, 0.01, 100, 1.0
# The share of batches from a single source, whose pairs are harder to distinguish; a source is drawn by size ** _POWER.
_ONE_SOURCE, _POWER = 0.6, 0.7
# Weight and temperature of each teacher's scores.
_BGE, _MINILM = (0.7, 0.02), (0.3, 0.05)
_TO_TEACHER, _CONTRAST = 2.0, 0.1

Ids = list[list[int]]


class Lesson(NamedTuple):
    """The pairs as word pieces, and each teacher's vectors of them."""

    queries: Ids
    passages: Ids
    bge: tuple[Tensor, Tensor]
    minilm: tuple[Tensor, Tensor]
    sources: list[list[int]]


def lesson(pairs: list[Pair], pieces: WordPiece, tokens: int, bge: Network, minilm: Network, device: str) -> Lesson:
    queries = [pieces.ids(pair.query, _MOST_QUERY_PIECES) for pair in pairs]
    passages = [pieces.ids(pair.passage, tokens) for pair in pairs]

    def opinion(network: Network, pooled: Callable[[Tensor, Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        network.to(device)
        found = tuple(_embedded(network, texts, pooled, device) for texts in (queries, passages))
        network.to("cpu")
        return found[0], found[1]

    by_source: dict[str, list[int]] = {}
    for number, pair in enumerate(pairs):
        by_source.setdefault(pair.source, []).append(number)
    return Lesson(queries, passages, opinion(bge, _first), opinion(minilm, _mean), list(by_source.values()))


def train(student: Network, lesson: Lesson, steps: int, size: int, device: str, seed: int = 0) -> Iterator[float]:
    """Train the student; yields the loss of each step."""
    sharpness = nn.Parameter(torch.tensor(3.0, device=device))
    student.to(device).train()
    optimiser = torch.optim.AdamW([*student.parameters(), sharpness], lr=_RATE, weight_decay=_DECAY)
    chance = random.Random(seed)
    for step in range(steps):
        for group in optimiser.param_groups:
            fall = 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * step / steps))
            group["lr"] = _RATE * min(1, (step + 1) / _WARM_UP) * fall
        numbers = _drawn(lesson, size, chance)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            queries = _vectors(student, [[_QUERY, *lesson.queries[each]] for each in numbers], _mean, device)
            passages = _vectors(student, [[_PASSAGE, *lesson.passages[each]] for each in numbers], _mean, device)
        loss = _loss(queries, passages, sharpness, lesson, torch.tensor(numbers, device=device))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), _CLIP)
        optimiser.step()
        yield float(loss.detach())


def _loss(queries: Tensor, passages: Tensor, sharpness: Tensor, lesson: Lesson, numbers: Tensor) -> Tensor:
    """The distance to the teacher's vectors, the divergence from both teachers' scores in the batch, and InfoNCE."""
    bge, minilm = ([vectors[numbers].float() for vectors in each] for each in (lesson.bge, lesson.minilm))
    distance = 2 - (queries * bge[0]).sum(1).mean() - (passages * bge[1]).sum(1).mean()
    scores = queries @ passages.T * sharpness.exp()
    opinions = [
        share * (vectors[0] @ vectors[1].T) / temperature
        for (share, temperature), vectors in ((_BGE, bge), (_MINILM, minilm))
    ]
    divergence = functional.kl_div(
        functional.log_softmax(scores, 1), functional.softmax(opinions[0] + opinions[1], 1), reduction="batchmean"
    )
    right = torch.arange(len(numbers), device=scores.device)
    return _TO_TEACHER * distance + divergence + _CONTRAST * functional.cross_entropy(scores, right)


def _drawn(lesson: Lesson, size: int, chance: random.Random) -> list[int]:
    if chance.random() < _ONE_SOURCE:
        (source,) = chance.choices(lesson.sources, [len(each) ** _POWER for each in lesson.sources])
        return chance.sample(source, min(size, len(source)))
    return chance.sample(range(len(lesson.queries)), min(size, len(lesson.queries)))


def _embedded(network: Network, texts: Ids, pooled: Callable[[Tensor, Tensor], Tensor], device: str) -> Tensor:
    """A teacher's vectors of all texts, the shortest first, with its own markers."""
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    found: list[Tensor] = []
    with torch.inference_mode(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        for start in range(0, len(order), 512):
            some = [[_PASSAGE, *texts[number], _END] for number in order[start : start + 512]]
            found.append(_vectors(network, some, pooled, device).half())
    return torch.cat(found)[torch.from_numpy(np.argsort(order)).to(device)].clone()


def _vectors(network: Network, texts: Ids, pooled: Callable[[Tensor, Tensor], Tensor], device: str) -> Tensor:
    longest = max(map(len, texts))
    ids = torch.tensor([[*text, *[0] * (longest - len(text))] for text in texts], device=device)
    mask = torch.arange(longest, device=device) < torch.tensor([[len(text)] for text in texts], device=device)
    return functional.normalize(pooled(network(ids, mask).float(), mask), dim=-1)


def _first(x: Tensor, _mask: Tensor) -> Tensor:
    return x[:, 0]


def _mean(x: Tensor, mask: Tensor) -> Tensor:
    return (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="train", description="Train a student on pairs.")
    for name in ("pairs", "bge", "minilm", "vocabulary", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="a quantised model to continue from (default: derived from bge)")
    parser.add_argument("--steps", type=int, default=2_357)
    parser.add_argument("--tokens", type=int, default=192)
    parser.add_argument("--batch", type=int, default=1_280)
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    bge, minilm = teacher(given.bge), teacher(given.minilm)
    student = student_from(dequantised(tensors(given.start.read_bytes()))) if given.start else student_of(bge)
    pieces = WordPiece(given.vocabulary.read_text("utf-8").splitlines())
    taught = lesson(read(given.pairs), pieces, given.tokens, bge, minilm, device)
    for step, loss in enumerate(train(student, taught, given.steps, given.batch, device), start=1):
        if step % 100 == 0 or step == given.steps:
            print(f"step {step} of {given.steps}: loss {loss:.4f}", flush=True)
    np.savez(given.out, **weights_of(student))  # type: ignore[arg-type]
    return 0


if __name__ == "__main__":
    sys.exit(main())
