"""`python -m bench.fit FILE`: fits the probability that a hit answers its query to LoCoMo's conversations.

It is checked on text that it was not fitted to: functions of the standard library, asked for by their documentation,
and memories of few notes.
"""

from __future__ import annotations

import argparse
import ast
import random
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from anamnesis.eval.locomo import Conversation, read_locomo
from anamnesis.notes import Memory
from anamnesis.store import Hit, MemoryStore

Floats = NDArray[np.float64]
_PACKAGES = ("asyncio", "email", "http", "logging", "unittest", "xml")
_MOST_FUNCTIONS = 60
# Questions that are asked of each memory, and the sizes of small memories.
_MOST_ASKED = 60
_SMALL = (1, 2, 3, 5, 10, 20)
# The weight of brevity, which is not fitted.
_BREVITY = 3.5

T = TypeVar("T")


class Corpus(NamedTuple):
    """The notes of one memory, and questions about them with the ids of the notes that answer each."""

    notes: list[Memory]
    questions: list[tuple[str, set[str]]]


class Sample(NamedTuple):
    """A hit: what is known of it, and whether it answers its query; `is_best` is the first hit for that."""

    known: tuple[float, ...]
    answers: bool
    fit: float
    is_best: bool


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fit", description=__doc__)
    parser.add_argument("data", type=Path, help="locomo.json, or a part of it")
    data = parser.parse_args().data
    random.seed(1)
    talks = [[_talk(each) for each in read_locomo(data, turns=turns)] for turns in (True, False)]
    functions = [_functions(package) for package in _PACKAGES]
    about_code = [question for each in functions for question, _ in each.questions]
    about_people = [question for each in talks[0] for question, _ in each.questions]
    fitted_to = [sample for corpora in talks for sample in _samples(corpora, about_code)]
    known = np.array([(1.0, *each.known) for each in fitted_to])
    constants = _fitted(known[:, :-1], np.array([each.answers for each in fitted_to]), _BREVITY * known[:, -1])
    print("constant, closeness, outstanding, coverage:", ", ".join(f"{value:.2f}" for value in constants))
    _report("conversations, which it is fitted to", fitted_to)
    _report("functions", list(_samples(functions, about_people)))
    for size in _SMALL:
        small = [_part(each, size) for each in chain(*talks, functions) if len(each.notes) >= size]
        _report(f"memories of {size}", list(_samples(small)))
    return 0


def _talk(read: Conversation) -> Corpus:
    return Corpus(read.notes, [(case.query, set(case.relevant_ids)) for case in read.cases])


def _samples(corpora: Sequence[Corpus], foreign: Sequence[str] = ()) -> Iterator[Sample]:
    """The hits of questions about each memory, of questions about the next one, and of foreign ones."""
    for here, there in zip(corpora, [*corpora[1:], corpora[0]], strict=True):
        with tempfile.TemporaryDirectory() as folder, MemoryStore(folder) as store:
            store.put_all(here.notes)
            wrong = [*_some([question for question, _ in there.questions]), *_some(foreign)]
            for question, evidence in chain(_some(here.questions), ((question, set[str]()) for question in wrong)):
                yield from _hits(store.hits(question, explain=True), evidence)


def _some(values: Sequence[T]) -> list[T]:
    return random.sample(values, min(_MOST_ASKED, len(values)))


def _hits(hits: Iterable[Hit], evidence: set[str]) -> Iterator[Sample]:
    """Of a question that has an answer, the hits that are none say nothing: some of them would do as well."""
    is_best = True
    for hit in hits:
        answers = hit.memory.id in evidence
        if hit.why and (answers or not evidence):
            yield Sample(tuple(hit.why.evidence.values()), answers, hit.fit or 0.0, is_best)
            is_best = False


def _fitted(known: Floats, answers: NDArray[np.bool_], given: Floats) -> Floats:
    """The constants of a logit to which `given` is added, both classes with the same weight: Newton's method."""
    weights = np.where(answers, 0.5 / answers.mean(), 0.5 / (1 - answers.mean()))
    constants = np.zeros(known.shape[1])
    for _ in range(40):
        likely = 1 / (1 + np.exp(-(known @ constants + given)))
        slope = known.T @ (weights * (answers - likely)) - 1e-3 * constants
        curve = (known * (weights * likely * (1 - likely))[:, None]).T @ known + 1e-3 * np.eye(known.shape[1])
        constants += np.linalg.solve(curve, slope)
    return constants


def _report(name: str, samples: list[Sample]) -> None:
    best = [each for each in samples if each.is_best]
    right, wrong = (np.array([each.fit for each in best if each.answers is answers]) for answers in (True, False))
    higher = (right[:, None] > wrong).mean() + (right[:, None] == wrong).mean() / 2
    print(f"{name}: AUC {higher:.4f}, weak {(right < 0.5).mean():.1%} of answers, {(wrong < 0.5).mean():.1%} of others")


def _functions(package: str) -> Corpus:
    """Functions without their documentation, and the first lines of that as questions."""
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


def _part(corpus: Corpus, size: int) -> Corpus:
    """A question, a note that answers it, and others."""
    question, evidence = random.choice(corpus.questions)
    answer = next(note for note in corpus.notes if note.id in evidence)
    others = random.sample([note for note in corpus.notes if note.id not in evidence], size - 1)
    return Corpus([answer, *others], [(question, {answer.id})])


if __name__ == "__main__":
    raise SystemExit(main())
