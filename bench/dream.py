"""`python -m bench.dream [FILE]`: the effect of dreams on recall, repetitions and near misses, and their cost.

FILE has LoCoMo's conversations, which may not be shipped; without it, only the developer notes are measured.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from anamnesis.config import DEFAULT_BUDGET
from anamnesis.dream.cycle import Options, dream
from anamnesis.dream.dream_database import REVIEW, WAITING, DreamDatabase
from anamnesis.eval.cases import EvalCase
from anamnesis.eval.intervals import compare, intervals
from anamnesis.eval.locomo import Conversation, read_locomo
from anamnesis.eval.report import DEPTH, SHOWN, CaseResult, estimate_tokens
from anamnesis.inject import render_inject, select_inject
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore
from anamnesis.store.meaning import Meaning
from bench import corpus, meaning, report
from bench.driver import show, timed
from bench.load import environment
from bench.planting import (
    NEAR_MISSES,
    PARAPHRASES,
    PlantedNote,
    Rule,
    another_name,
    as_agents,
    developer_notes,
    plant,
    swapped,
)
from bench.recall import UNITS, _difference, _interval
from bench.verdict import head, line

HEADING = "# Dreams"
PARTS = ("recall", "merges", "inject", "speed")
_SHARE, _CYCLES = 0.3, 10
_MEASURES = ("Recall@5", "Recall@10", "MRR")
# Of each conversation: turns and sessions that get a paraphrase, and as many near misses.
_PLANTED = {"turn": 60, "session": 10}
_FIRST_SECONDS, _NEXT_SECONDS = 60.0, 2.0
_NEW = 100
_METHOD = """\
*Recall*: LoCoMo as in the part on recall, `mode="fused"`, its notes as an agent's, before and after ten cycles at
5 %; and the same with a paraphrase of 30 % of the notes. A hit on a note counts for the notes that it supersedes, and
one on a paraphrase for its source. In brackets: 95 % of 10,000 resamples of the questions; bold where 0 is outside.

*Merges*: paraphrases made by rule (sentences in another order, words replaced by a table, sentences cut, dated) and
near misses (another number, name, version or path, or a negation; half of them reworded too), planted into the
developer notes of `bench/developer_notes.txt` and LoCoMo, and cycles until nothing changes. *Merged*: by the dream
itself; *for a person*: left to `anamnesis review`. *Others*: notes that were merged though neither was planted.

*Injected*: what a session of each project of the developer notes gets at its start, a paraphrase of 30 % of the notes
planted, before and after ten cycles. *Different*: notes among those injected, a note and its paraphrase counted once.

*Speed*: notes of 120 made-up words as in the first part, with random vectors; the next cycle has 100 new notes, ten of
which repeat others. *Beside*: searches by words in another process while the first cycle runs in one of its own."""


class Merges(NamedTuple):
    """The counts by rule (planted, merged, left to a person), other merges, and the pairs decided wrongly."""

    counts: dict[str, tuple[int, int, int]]
    others: int
    pairs: list[str]


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        tables = [*_tables(options, Path(folder))]
    if options.record:
        report.record_part(options.record, HEADING, "bench.dream FILE", *tables, _METHOD)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.dream", description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", help="locomo10.json, or a part of it")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what to measure")
    parser.add_argument("--units", nargs="+", choices=UNITS, default=UNITS, help="what a note of LoCoMo is")
    parser.add_argument("--sizes", type=int, nargs=2, default=[10_000, 50_000], help="notes of the two memories")
    parser.add_argument("--pairs", type=int, default=0, metavar="N", help="print N pairs that were decided wrongly")
    report.add_record_option(parser)
    return parser.parse_args()


def _tables(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    targets = [head("target", "wanted", "measured", "met")]
    units = options.units if options.data else ()
    if "recall" in options.parts:
        for unit in units:
            yield _printed(_recall(read_locomo(options.data, turns=unit == "turn"), unit, folder / unit, targets))
    if "merges" in options.parts:
        yield _printed(_merges(options, units, folder / "merges", targets))
    if "inject" in options.parts:
        yield _printed(_inject(folder / "inject"))
    if "speed" in options.parts:
        yield _printed(_speed(folder, options.sizes, targets))
    yield _printed("\n".join(targets))


def _printed(table: str) -> str:
    show("")
    print(table, end="\n\n", flush=True)
    return table


def _target(targets: list[str], name: str, wanted: str, measured: str, is_met: bool) -> None:
    targets.append(line(name, wanted, measured, "yes" if is_met else "NO"))


def _recall(conversations: list[Conversation], unit: str, folder: Path, targets: list[str]) -> str:
    found: dict[tuple[str, str], list[CaseResult]] = {}
    for conversation in conversations:
        notes = _agents(conversation.notes)
        planted = plant(notes, PARAPHRASES, random.Random(7), round(_SHARE * len(notes)))
        for name, more in (("as it is", []), ("with repetitions", planted)):
            show(f"{conversation.name} {name}")
            home = folder / conversation.name
            with MemoryStore(home) as store:  # the second continues the first, before its dreams
                store.put_all(each.note for each in more) if more else store.put_all(notes)
                store.embed()
            dreamt = shutil.copytree(home, folder / "dreamt")
            sources = {each.note.id: each.source for each in more}
            for when, place in (("before", home), ("after", dreamt)):
                with MemoryStore(place) as store:
                    for _ in range(_CYCLES if when == "after" else 0):
                        dream(store, Options())
                    found.setdefault((name, when), []).extend(_ask(store, conversation.cases, sources))
            shutil.rmtree(dreamt)
    return _recall_table(found, unit, targets)


def _recall_table(found: Mapping[tuple[str, str], Sequence[CaseResult]], unit: str, targets: list[str]) -> str:
    columns = [*_MEASURES, *(f"{measure} by dreams" for measure in _MEASURES)]
    rows = [head(f"{unit}s, {len(found['as it is', 'before'])} questions", *columns)]
    for name, when in found:
        measured = intervals(found[name, when])
        against = {each.measure: each for each in compare(found[name, "before"], found[name, when])}
        shown = {name: _difference(against[name].interval, against[name].is_noise) for name in _MEASURES}
        after = [shown[measure] if when == "after" else "" for measure in _MEASURES]
        rows.append(line(f"{name}, {when}", *(_interval(measured[measure]) for measure in _MEASURES), *after))
        for measure in _MEASURES if when == "after" else ():
            is_repeated = name != "as it is"
            is_met = against[measure].interval.mean > 0 if is_repeated else against[measure].interval.high >= 0
            wanted = "better" if is_repeated else "not worse"
            _target(targets, f"{unit}s {name}, {measure} after dreams", wanted, shown[measure], is_met)
    return "\n".join(rows)


def _agents(notes: Iterable[Memory]) -> list[Memory]:
    return [as_agents(note, number) for number, note in enumerate(notes)]


def _roots(store: MemoryStore) -> dict[str, str]:
    """The note that supersedes each note, or the note itself."""
    ids = [note.id for note in store.list()]
    by = store.superseding(ids)

    def root(id: str) -> str:
        seen = {id}
        while (id := by.get(id, "")) and id not in seen:
            seen.add(id)
            last = id
        return last if len(seen) > 1 else next(iter(seen))

    return {id: root(id) for id in ids}


def _ask(store: MemoryStore, cases: Iterable[EvalCase], sources: Mapping[str, str]) -> list[CaseResult]:
    stands: dict[str, set[str]] = {}
    for id, root in _roots(store).items():
        stands.setdefault(root, set()).add(sources.get(id, id))
    outcomes = []
    for case in cases:
        hits = store.search(case.query, k=DEPTH)
        left, ranks = {*case.relevant_ids}, list[int]()
        for rank, note in enumerate(hits, start=1):
            new = stands.get(note.id, {sources.get(note.id, note.id)}) & left
            ranks += [rank] * len(new)
            left -= new
        tokens = sum(estimate_tokens(f"{note.title}\n{note.body}") for note in hits[:SHOWN])
        count = len({*case.relevant_ids})
        outcomes.append(CaseResult(case.query, case.kind, count, ranks, min(SHOWN, len(hits)), tokens, 0.0))
    return outcomes


def _merges(options: argparse.Namespace, units: Sequence[str], folder: Path, targets: list[str]) -> str:
    notes = developer_notes()
    sets = {"developer notes": [_merged(folder / "developer", notes, len(notes) // 2, NEAR_MISSES)]}
    for unit in units:
        sets[f"LoCoMo's {unit}s"] = [
            _merged(folder / f"{unit}-{each.name}", _agents(each.notes), _PLANTED[unit], _with_speakers(each))
            for each in read_locomo(options.data, turns=unit == "turn")
        ]
    rows = [head("planted in", "what", "planted", "merged", "for a person", "share merged")]
    for name, found in sets.items():
        total = {rule: _total(rule, found) for rule in (*PARAPHRASES, *NEAR_MISSES)}
        for rule, (planted, merged, review) in total.items():
            share = f"{100 * merged / planted:.0f} %" if planted else ""
            rows.append(line(name, rule, str(planted), str(merged), str(review), share))
        others = sum(each.others for each in found)
        rows.append(line(name, "others", "", str(others), "", ""))
        planted, right = (sum(total[rule][at] for rule in PARAPHRASES) for at in (0, 1))
        missed, wrong = (sum(total[rule][at] for rule in NEAR_MISSES) for at in (0, 1))
        precision = right / (right + wrong) if right + wrong else 1.0
        measured = f"{100 * precision:.1f} % ({wrong} of {missed} near misses)"
        _target(targets, f"precision of merges, {name}", "≥ 99 %", measured, precision >= 0.99)
        recall = right / planted if planted else 0.0
        _target(targets, f"recall of merges, {name}", "≥ 80 %", f"{100 * recall:.1f} % of {planted}", recall >= 0.8)
        for pair in [pair for each in found for pair in each.pairs][: options.pairs]:
            print(pair, end="\n\n")
    return "\n".join(rows)


def _total(rule: str, found: Iterable[Merges]) -> tuple[int, int, int]:
    planted, merged, review = zip(*(each.counts.get(rule, (0, 0, 0)) for each in found), strict=True)
    return sum(planted), sum(merged), sum(review)


def _with_speakers(conversation: Conversation) -> Mapping[str, Rule]:
    """Near misses, including texts with the two speakers swapped."""
    names = Counter(line.partition(":")[0] for note in conversation.notes for line in note.body.split("\n"))
    (one, _), (two, _) = names.most_common(2)
    return {
        **NEAR_MISSES,
        "another name": lambda text, chance: another_name(text, chance) or swapped(text, one, two),
    }


def _merged(folder: Path, notes: list[Memory], most: int, near: Mapping[str, Rule]) -> Merges:
    """Plant notes, dream until nothing changes, and count the outcomes."""
    show(f"merging in {folder.name}")
    same = plant(notes, PARAPHRASES, random.Random(1), most)
    other = plant(notes, near, random.Random(2), most, near=True)
    with MemoryStore(folder) as store:
        store.put_all([*notes, *(each.note for each in (*same, *other))])
        store.embed()
        while dream(store, Options(share=1)).decided.applied:
            pass
        roots = _roots(store)
        with closing(DreamDatabase(store.root)) as database:
            open = [{*each.proposal.notes} for each in database.proposals(REVIEW, WAITING)]
        texts = {note.id: f"{note.title}: {note.body}" for note in store.list()}
    counts: dict[str, tuple[int, int, int]] = {}
    pairs = []
    for each in (*same, *other):
        is_merged = roots[each.note.id] == roots[each.source]
        is_open = any({each.note.id, each.source} <= about for about in open)
        planted, merged, review = counts.get(each.rule, (0, 0, 0))
        counts[each.rule] = planted + 1, merged + is_merged, review + (is_open and not is_merged)
        if is_merged == (each in other):
            pairs.append(_pair(each, texts, is_merged))
    groups: dict[str, set[str]] = {}
    for note in notes:
        groups.setdefault(roots[note.id], set()).add(note.id)
    others = [group for group in groups.values() if len(group) > 1]
    pairs += ["OTHERS MERGED\n" + "\n".join(f"  {texts[id][:300]}" for id in group) for group in others]
    return Merges(counts, sum(len(group) - 1 for group in others), pairs)


def _pair(each: PlantedNote, texts: Mapping[str, str], is_merged: bool) -> str:
    what = "WRONGLY MERGED" if is_merged else "MISSED"
    return f"{what} ({each.rule})\n  {texts[each.source][:400]}\n  {texts[each.note.id][:400]}"


def _inject(folder: Path) -> str:
    notes = developer_notes()
    planted = plant(notes, PARAPHRASES, random.Random(5), round(_SHARE * len(notes)))
    sources = {each.note.id: each.source for each in planted}
    rows = [head("injected in all projects", "tokens", "notes", "different")]
    with MemoryStore(folder) as store:
        store.put_all([*notes, *(each.note for each in planted)])
        store.embed()
        rows.append(line("before", *_injected(store, sources)))
        for _ in range(_CYCLES):
            dream(store, Options())
        rows.append(line("after ten cycles", *_injected(store, sources)))
    return "\n".join(rows)


def _injected(store: MemoryStore, sources: Mapping[str, str]) -> tuple[str, ...]:
    tokens = count = different = 0
    for project in sorted({note.project for note in store.list()}):
        notes = select_inject(store, project=project)
        tokens += estimate_tokens(render_inject(notes, DEFAULT_BUDGET))
        count += len(notes)
        different += len({sources.get(note.id, note.id) for note in notes})
    return f"{tokens:,}", str(count), str(different)


def _speed(folder: Path, sizes: Sequence[int], targets: list[str]) -> str:
    small, large = sizes
    rows = [head("notes", "cycle", "seconds", "of which computing", "notes looked at", "proposals")]
    for size in (small, large):
        home = folder / f"speed-{size}"
        show(f"writing {size:,} notes")
        with MemoryStore(home) as store:
            store.put_all(_agents(corpus.notes(size)))
            _embed_at_random(store)
            rows.append(_timed_cycle(store, size, "the first", targets, _FIRST_SECONDS if size == large else None))
            new = _agents(corpus.notes(_NEW, seed=11))
            known = [replace(note, id=f"{note.id}-2") for note in corpus.notes(_NEW // 10)]
            fresh = [replace(note, id=f"{note.id}-new") for note in new[: -len(known)]]
            store.put_all([*fresh, *_agents(known)])
            _embed_at_random(store)
            most = _NEXT_SECONDS if size == small else None
            rows.append(_timed_cycle(store, size, f"{_NEW} new notes", targets, most))
    alone, beside = _searches(folder / f"speed-{large}")
    table = [head(f"searches of {large:,} notes", "p50", "p95")]
    for name, times in (("alone", alone), ("beside a first cycle", beside)):
        table.append(line(f"{name} ({len(times)})", f"{statistics.median(times):.1f} ms", f"{_p95(times):.1f} ms"))
    return "\n".join([*rows, "", *table])


def _embed_at_random(store: MemoryStore) -> None:
    with closing(Meaning(store._index, store.log, store.root / "vectors.db", meaning._model)) as vectors:
        vectors.follow()


def _timed_cycle(store: MemoryStore, size: int, name: str, targets: list[str], most: float | None) -> str:
    show(f"{name} of {size:,} notes")
    started = time.process_time()
    outcome = dream(store, Options(progress=lambda done, total: show(f"{done:,} of {total:,}")))
    computing = time.process_time() - started
    if most:
        is_met = outcome.seconds <= most
        _target(targets, f"{name}, {size:,} notes", f"≤ {most:g} s", f"{outcome.seconds:.1f} s", is_met)
    found = sum(map(len, outcome.decided))
    return line(f"{size:,}", name, f"{outcome.seconds:.2f}", f"{computing:.2f}", f"{outcome.looked_at:,}", f"{found:,}")


def _searches(home: Path) -> tuple[list[float], list[float]]:
    """The milliseconds of searches while nothing else runs, and while a first cycle does."""
    show("searching beside a cycle")
    for name in ("dreams.db", "sketches.db"):
        for path in home.glob(f"{name}*"):
            path.unlink()
    queries = [query for words in (3, 4, 5) for query in corpus.queries(100, words=words, seed=words)]
    with MemoryStore(home) as store:
        ask: list[Callable[[], object]] = [partial(store.search, query, mode="words") for query in queries]
        alone = [timed(each) for each in ask]
        command = [sys.executable, "-m", "anamnesis", "dream", "--trigger=bench"]
        with subprocess.Popen(command, env=environment(home, 0), stdin=subprocess.DEVNULL) as process:
            beside: list[float] = []
            while process.poll() is None:
                beside.append(timed(ask[len(beside) % len(ask)]))
                time.sleep(0.01)
        assert process.returncode == 0
    return alone, beside


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))]


if __name__ == "__main__":
    raise SystemExit(main())
