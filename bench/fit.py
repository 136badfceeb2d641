"""`python -m bench.fit FILE`: fits the probability that a hit answers its query, and reports its quality.

It is fitted to paraphrases, to LoCoMo's conversations and to functions of the standard library, in memories of one note
to thousands, and checked on the paraphrases of tests/eval, which are about other fields.
"""

from __future__ import annotations

import argparse
import ast
import random
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from anamnesis.eval.locomo import Conversation, read_locomo
from anamnesis.meaning.fusion import chance
from anamnesis.notes import Memory
from anamnesis.store import Hit, MemoryStore
from bench.paraphrases import FITTED, Paraphrase, read

Floats = NDArray[np.float64]
_HELD_OUT = Path(__file__).parents[1] / "tests" / "eval" / "paraphrases.txt"
_PACKAGES = ("asyncio", "email", "http", "logging", "unittest", "xml")
_MOST_FUNCTIONS = 60
# The sizes of small memories, how many of each are made of a corpus, and the most questions of each kind to a memory.
_SMALL = (1, 2, 3, 5, 20)
_MOST_PARTS = 8
_MOST_ASKED = 40
# The weights of the kinds, and of wrong hits relative to right ones.
_KINDS = {"paraphrases": 2.0, "turns": 1.0, "sessions": 1.0, "functions": 1.0}
_WRONG = 1.4
# As in `anamnesis.meaning.fusion`.
_FEW_MORE = 5

T = TypeVar("T")


class Corpus(NamedTuple):
    """The notes of one memory, and questions about them with the ids of the notes that answer each."""

    notes: list[Memory]
    questions: list[tuple[str, set[str]]]


class Sample(NamedTuple):
    """The first hit of a question: its features, its fit, and what the question was about."""

    size: str
    about: (
        str  # "own" if the hit answers it, "near" for that of another memory of the same kind, "far" for another kind
    )
    known: dict[str, float]
    fit: float

    @property
    def features(self) -> tuple[float, ...]:
        known = self.known
        return 1.0, known["closeness"], known["average"], known["coverage"] ** 2, chance(known["notes"] + _FEW_MORE)


def main() -> int:
    options = _options()
    random.seed(1)
    corpora = {
        "paraphrases": _fields(read(FITTED)),
        "turns": [_talk(each) for each in read_locomo(options.data, turns=True)],
        "sessions": [_talk(each) for each in read_locomo(options.data, turns=False)],
        "functions": [_functions(package) for package in _PACKAGES],
    }
    about_code, about_people = _questions(corpora["paraphrases"]), _questions(corpora["turns"])
    padding = _docstrings()
    samples = {}
    for kind, some in [*corpora.items(), ("held out", _fields(read(_HELD_OUT)))]:
        is_talk = kind in ("turns", "sessions")
        padded = [] if is_talk else [_padded(some, padding, size) for size in options.padded]
        samples[kind] = [*_samples(some, padded, about_code if is_talk else about_people)]
        _report(kind, samples[kind])
    constants = _fitted({kind: samples[kind] for kind in corpora})
    print("constant, closeness, average, coverage², chance:", ", ".join(f"{value:.2f}" for value in constants))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.fit", description=__doc__)
    parser.add_argument("data", type=Path, help="locomo10.json, or a part of it")
    parser.add_argument("--padded", type=int, nargs="*", default=[500], help="sizes of memories filled up with others")
    return parser.parse_args()


def _talk(read: Conversation) -> Corpus:
    return Corpus(read.notes, [(case.query, set(case.relevant_ids)) for case in read.cases])


def _fields(paraphrases: list[Paraphrase]) -> list[Corpus]:
    """A corpus for each field."""
    found = []
    for _, some in groupby(paraphrases, lambda each: each.field):
        asked = list(some)
        notes = [Memory(f"note-{number}", "semantic", each.title, each.body) for number, each in enumerate(asked)]
        found.append(Corpus(notes, [(each.question, {note.id}) for each, note in zip(asked, notes, strict=True)]))
    return found


def _functions(package: str) -> Corpus:
    """Functions without their docstrings, with the first lines of these as questions."""
    notes: dict[str, Memory] = {}
    questions = []
    for path in sorted((Path(sysconfig.get_path("stdlib")) / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            text = ast.get_docstring(node) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and text and len(node.body) > 1:
                node.body = node.body[1:]
                note = f"{package}-{node.name}"
                if note not in notes and len(notes) < _MOST_FUNCTIONS and len(text.splitlines()[0].split()) > 3:
                    notes[note] = Memory(note, "semantic", node.name, ast.unparse(node))
                    questions.append((text.splitlines()[0], {note}))
    return Corpus(list(notes.values()), questions)


def _docstrings() -> list[Memory]:
    """Docstrings of the standard library, to pad a memory."""
    found: dict[str, Memory] = {}
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if any(part in ("site-packages", "test", "tests", "idlelib", *_PACKAGES) for part in path.parts):
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            text = ast.get_docstring(node) if isinstance(node, ast.FunctionDef | ast.ClassDef) else None
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and text and len(text.split()) > 12:
                found[text] = Memory(f"padding-{len(found)}", "semantic", node.name, text)
    notes = list(found.values())
    random.shuffle(notes)
    return notes


def _questions(corpora: Sequence[Corpus]) -> list[str]:
    return [question for each in corpora for question, _ in each.questions]


def _padded(corpora: Sequence[Corpus], padding: Sequence[Memory], size: int) -> Corpus:
    """One of the corpora, padded with other notes."""
    here = random.choice(corpora)
    return Corpus([*here.notes, *padding[: size - len(here.notes)]], here.questions)


def _parts(corpus: Corpus, size: int) -> Iterator[Corpus]:
    """Small memories of some of the notes, each with a question that one of them answers."""
    for question, evidence in _some(corpus.questions, _MOST_PARTS):
        answer = next(note for note in corpus.notes if note.id in evidence)
        others = [note for note in corpus.notes if note.id not in evidence]
        if len(others) >= size - 1:
            yield Corpus([answer, *random.sample(others, size - 1)], [(question, {answer.id})])


def _samples(corpora: Sequence[Corpus], padded: Sequence[Corpus], foreign: Sequence[str]) -> Iterator[Sample]:
    """The first hits of questions about a memory, about another memory of its kind, and about something else."""
    for here, there in zip(corpora, [*corpora[1:], corpora[0]], strict=True):
        near = _questions([there])
        for size in _SMALL:
            for part in _parts(here, size):
                yield from _asked(part, str(size), _some(near, 4), _some(foreign, 4))
        yield from _asked(here, "whole", _some(near, _MOST_ASKED), _some(foreign, _MOST_ASKED))
    for each in padded:
        yield from _asked(each, str(len(each.notes)), [], _some(foreign, _MOST_ASKED))


def _asked(corpus: Corpus, size: str, near: Sequence[str], far: Sequence[str]) -> Iterator[Sample]:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(folder) as store:
        store.put_all(corpus.notes)
        for question, evidence in _some(corpus.questions, _MOST_ASKED):
            hit = _first(store, question)
            if hit and hit.why and hit.memory.id in evidence:  # another first hit may answer the question as well
                yield Sample(size, "own", hit.why.evidence, hit.fit or 0.0)
        for about, questions in (("near", near), ("far", far)):
            for question in questions:
                hit = _first(store, question)
                yield Sample(size, about, hit.why.evidence if hit and hit.why else {}, (hit and hit.fit) or 0.0)


def _first(store: MemoryStore, question: str) -> Hit | None:
    return next(iter(store.hits(question, k=1, explain=True)), None)


def _some(values: Sequence[T], most: int) -> list[T]:
    return random.sample(values, min(most, len(values)))


def _fitted(samples: dict[str, list[Sample]]) -> Floats:
    """The constants of the logit, by Newton's method.

    For each kind and size of memory, right and wrong hits have fixed total weights, however many there are.
    """
    known, answers, weights = [], [], []
    for kind, some in samples.items():
        for _, group in groupby(sorted(some, key=lambda each: each.size), lambda each: each.size):
            found = [each for each in group if each.known and each.known["coverage"] < 1]
            right, wrong = ([each for each in found if (each.about == "own") is answer] for answer in (True, False))
            for each in found if right and wrong else ():
                share = 1 / len(right) if each.about == "own" else _WRONG / len(wrong)
                known.append(each.features)
                answers.append(each.about == "own")
                weights.append(_KINDS[kind] * min(1, len(right) / 25) * share)
    return _newton(np.array(known), np.array(answers), np.array(weights) * len(weights) / sum(weights))


def _newton(known: Floats, answers: NDArray[np.bool_], weights: Floats) -> Floats:
    constants = np.zeros(known.shape[1])
    for _ in range(40):
        likely = 1 / (1 + np.exp(-(known @ constants)))
        slope = known.T @ (weights * (answers - likely)) - 1e-3 * constants
        curve = (known * (weights * likely * (1 - likely))[:, None]).T @ known + 1e-3 * np.eye(known.shape[1])
        constants += np.linalg.solve(curve, slope)
    return constants


def _report(kind: str, samples: list[Sample]) -> None:
    """Print the share of first hits that fit, by what the question is about; a missing hit does not fit."""
    for size in dict.fromkeys(each.size for each in samples):
        fits = {
            about: np.array([each.fit for each in samples if each.size == size and each.about == about])
            for about in ("own", "near", "far")
        }
        shown = [f"{about} {(some >= 0.5).mean():.0%} of {len(some)}" for about, some in fits.items() if len(some)]
        wrong = np.concatenate([fits["near"], fits["far"]])
        higher = (fits["own"][:, None] > wrong).mean() + (fits["own"][:, None] == wrong).mean() / 2
        print(f"{kind}, memories of {size}: {', '.join(shown)}; AUC {higher:.3f}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
