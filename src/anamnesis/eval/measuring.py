"""Runs the queries of an evaluation on a store, or on any other ranking."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from anamnesis.eval.cases import EvalCase
from anamnesis.eval.report import DEPTH, SHOWN, CaseResult, RecallReport, estimate_tokens, report_of
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore
from anamnesis.store.question import Mode

# Finds the k best notes for a query.
Search = Callable[[str, int], Sequence[Memory]]


def recall_at_k(
    store: MemoryStore, cases: Iterable[EvalCase], ks: Sequence[int] = (1, 3, 5, 8), *, mode: Mode = "fused"
) -> RecallReport:
    """Recall@k and the other measures of a store's search over all its notes, which are embedded first if needed."""
    if mode != "words":
        store.embed()
    return report_of(ask(by_mode(store, mode), cases, max([DEPTH, *ks])), ks)


def by_mode(store: MemoryStore, mode: Mode) -> Search:
    """A store's search in one of its modes."""
    return lambda query, k: store.search(query, k=k, mode=mode)


def ask(
    search: Search, cases: Iterable[EvalCase], depth: int = DEPTH, progress: Callable[[int], None] | None = None
) -> list[CaseResult]:
    """The result of each case, by any ranking. `progress` gets 1 after each."""
    outcomes = []
    for case in cases:
        outcomes.append(_outcome(search, case, depth))
        if progress:
            progress(1)
    return outcomes


def _outcome(search: Search, case: EvalCase, depth: int) -> CaseResult:
    """Time a search as users run it; search deeper only for relevant notes that it did not find."""
    started = time.perf_counter()
    shown = search(case.query, SHOWN)
    milliseconds = 1000 * (time.perf_counter() - started)
    relevant = set(case.relevant_ids)
    found = [note.id for note in shown]
    if not relevant <= set(found) and len(found) == SHOWN:
        found = [note.id for note in search(case.query, depth)]
    ranks = [rank for rank, id in enumerate(found, start=1) if id in relevant]
    tokens = sum(estimate_tokens(f"{note.title}\n{note.body}") for note in shown)
    return CaseResult(case.query, case.kind, len(relevant), ranks, len(shown), tokens, milliseconds)
