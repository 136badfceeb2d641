"""`python -m bench.recall FILE`: how much evidence of LoCoMo's conversations rankings and prompts find.

Rankings are measured by `anamnesis.eval`, as `anamnesis eval run --locomo FILE` does. The file may not be shipped.
"""

from __future__ import annotations

import argparse
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from anamnesis.eval.intervals import Interval, compare, intervals
from anamnesis.eval.locomo import Conversation, read_locomo
from anamnesis.eval.measuring import Search, ask, by_mode
from anamnesis.eval.report import CaseResult
from anamnesis.inject import select_recall
from anamnesis.notes import Memory
from anamnesis.recall.pruning import any_term
from anamnesis.store import MemoryStore
from anamnesis.store.queries import Filter
from anamnesis.store.question import Mode, Question, by_words_alone
from bench import report
from bench.verdict import head, line

HEADING = "# Recall"
UNITS = ("session", "turn")
_METHOD = """\
The questions of LoCoMo's conversations in the given file, without the adversarial ones, which have no answer, and
without those that name no turn as evidence. Each conversation is a memory of its own; a note is a session (its date as
the title, a line for each turn) or a turn (the date as the title); what a picture shows stands in brackets. R@k is
the share of a question's evidence among the first k hits, MRR the mean of 1 / rank of the first evidence, in percent.
In brackets: what 95 % of 10,000 resamples of the questions give. *Against words*: the difference to words without
function words, over the same questions; bold where 0 is outside of the interval.

- **all words**: FTS5, the OR of all words of the question, BM25: the ranking of the specification.
- **words**: the same without function words, `mode="words"`.
- **meaning**: the cosine of the best passage, `mode="meaning"`.
- **reciprocal ranks**: the sum of 1 / (60 + rank) over the first 100 of the last two.
- **fused**: what a search does, `mode="fused"`.

*At a prompt*: all conversations in one memory, each a project, their questions as prompts, ranked by words. How
often notes are injected at a question about the project's own conversation, how many of these times with evidence, how
often at a question about another conversation, and at an everyday prompt."""
_SHOWN = ("Recall@5", "Recall@10", "MRR")
_WANTED = {("session", "Recall@5"): 88.0, ("session", "MRR"): 82.0, ("turn", "Recall@10"): 68.5, ("turn", "MRR"): 50.5}
_BY_WORDS, _OURS = "words", "fused"
_RRF, _RANKS = 60, 100
_EVERYDAY = (
    *("continue", "yes", "thanks, that works", "fix the failing test", "run the tests again", "commit this"),
    *("what does this function do?", "refactor this file", "add a test for it", "why does it fail?", "looks good"),
    *("can you explain that?", "make it faster", "write the docs", "update the readme", "undo the last change"),
    *("please push it", "there is an error in the log", "rename the variable", "start over"),
)

Outcomes = dict[str, list[CaseResult]]


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        tables = [*_tables(options.data, options.keep or Path(folder), options.units)]
    if options.record:
        report.record_part(options.record, HEADING, "bench.recall FILE", *tables, _METHOD)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    parser.add_argument("data", type=Path, help="locomo10.json, or a part of it")
    parser.add_argument("--units", nargs="+", choices=UNITS, default=UNITS, help="what a note is")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the embedded memories here for another run")
    report.add_record_option(parser)
    return parser.parse_args()


def _tables(data: Path, folder: Path, units: Sequence[str]) -> Iterator[str]:
    """Each table, printed as soon as it is complete."""
    judged = [head("target", "wanted", "measured", "met")]
    prompts = [head("at a prompt, notes are", "own", "with evidence", "another's", "everyday")]
    for unit in units:
        conversations = read_locomo(data, turns=unit == "turn")
        found = _outcomes(conversations, folder / unit)
        measured = {name: intervals(outcomes) for name, outcomes in found.items()}
        yield _printed("\n".join(_rows(unit, found, measured)))
        judged += _judged(unit, measured[_OURS])
        prompts.append(line(f"{unit}s", *(f"{100 * each:.1f}" for each in _prompted(conversations))))
    yield _printed("\n".join(judged))
    yield _printed("\n".join(prompts))


def _printed(table: str) -> str:
    print(table, flush=True)
    print()
    return table


def _rows(unit: str, found: Outcomes, measured: dict[str, dict[str, Interval]]) -> Iterator[str]:
    yield head(f"{unit}s, {len(found[_OURS])} questions", *_SHOWN, *(f"{name} against words" for name in _SHOWN))
    for name, outcomes in found.items():
        against = {each.measure: each for each in compare(found[_BY_WORDS], outcomes)}
        differences = [_difference(against[each].interval, against[each].is_noise) for each in _SHOWN]
        shown = [_interval(measured[name][each]) for each in _SHOWN]
        yield line(name, *shown, *(differences if name != _BY_WORDS else [""] * len(_SHOWN)))


def _interval(found: Interval) -> str:
    mean, low, high = (100 * value for value in found)
    return f"{mean:.1f} ({low:.1f}–{high:.1f})"


def _difference(found: Interval, is_noise: bool) -> str:
    mean, low, high = (100 * value for value in found)
    shown = f"{mean:+.1f} ({low:+.1f} to {high:+.1f})"
    return shown if is_noise else f"**{shown}**"


def _judged(unit: str, ours: dict[str, Interval]) -> Iterator[str]:
    for (of, measure), wanted in _WANTED.items():
        if of == unit:
            value = 100 * ours[measure].mean
            yield line(f"{unit}s, {measure}", f"≥ {wanted:g}", f"{value:.1f}", "yes" if value >= wanted else "NO")


def _outcomes(conversations: Iterable[Conversation], folder: Path) -> Outcomes:
    """The outcomes of each ranking for all questions, with one memory per conversation."""
    found: Outcomes = {}
    for conversation in conversations:
        with MemoryStore(folder / conversation.name) as store:
            if not store.count():
                store.put_all(conversation.notes)
            store.embed()
            for name, search in _rankings(store).items():
                found.setdefault(name, []).extend(ask(search, conversation.cases))
    return found


def _rankings(store: MemoryStore) -> dict[str, Search]:
    notes = {note.id: note for note in store.list()}

    def ranking(ids: Callable[[str], list[str]]) -> Search:
        return lambda query, k: [notes[id] for id in ids(query)[:k]]

    return {
        "all words": ranking(partial(_by_all_words, store)),
        _BY_WORDS: by_mode(store, "words"),
        "meaning": by_mode(store, "meaning"),
        "reciprocal ranks": ranking(partial(_by_ranks, store)),
        _OURS: by_mode(store, "fused"),
    }


def _by_all_words(store: MemoryStore, query: str) -> list[str]:
    """The ranking of the specification."""
    with closing(sqlite3.connect(store.db_path)) as db:
        rows = db.execute(
            "SELECT m.id FROM memories_fts CROSS JOIN memories AS m ON m.number = memories_fts.rowid"
            " WHERE memories_fts MATCH :match ORDER BY bm25(memories_fts), m.updated_at DESC",
            {"match": any_term(re.findall(r"\w+", query))},
        ).fetchall()
    return [id for (id,) in rows]


def _by_ranks(store: MemoryStore, query: str) -> list[str]:
    scores: dict[str, float] = {}
    modes: tuple[Mode, ...] = ("words", "meaning")
    for mode in modes:
        for rank, found in enumerate(store.ranking.rank(Question(query, Filter(), _RANKS, mode)), start=1):
            scores[found.id] = scores.get(found.id, 0) + 1 / (_RRF + rank)
    return sorted(scores, key=scores.__getitem__, reverse=True)


def _prompted(conversations: list[Conversation]) -> Iterator[float]:
    """How often notes are injected at prompts, with all conversations in one memory, each as a project."""
    own, right, other, everyday = [], [], [], []
    with tempfile.TemporaryDirectory() as folder, MemoryStore(folder) as store:
        store.ranking.ranker = by_words_alone
        store.put_all(note for each in conversations for note in each.notes)
        for here, there in zip(conversations, [*conversations[1:], conversations[0]], strict=True):
            for case in here.cases:
                given = _injected(store, case.query, here)
                own.append(bool(given))
                if given:
                    right.append(bool({*case.relevant_ids} & {note.id for note in given}))
                other.append(bool(_injected(store, case.query, there)))
            everyday += [bool(_injected(store, prompt, here)) for prompt in _EVERYDAY]
    return (sum(answers) / len(answers) for answers in (own, right, other, everyday))


def _injected(store: MemoryStore, prompt: str, conversation: Conversation) -> list[Memory]:
    return select_recall(store, prompt, project=conversation.name, known=set())


if __name__ == "__main__":
    raise SystemExit(main())
