"""`anamnesis eval`: measures how well searches find notes, on one's own notes or on LoCoMo."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json, open_store
from anamnesis.cli.output import counting_bar, in_a_line, on_terminal, print_json, print_lines
from anamnesis.errors import InvalidArgument
from anamnesis.plain import escaped
from anamnesis.plural import counted
from anamnesis.store import MemoryStore
from anamnesis.store.question import MODES, Mode

# The measuring modules are imported when needed: numpy takes 100 ms, which the help does not need.
if TYPE_CHECKING:
    from anamnesis.eval import CaseResult, EvalCase, RecallReport
    from anamnesis.eval.intervals import MeasureDifference

_FILE = click.Path(path_type=Path)


def _locomo_options(command: Callable[..., Any]) -> Callable[..., Any]:
    locomo = click.option(
        "--locomo", type=_FILE, metavar="FILE", help="Ask the questions of LoCoMo, in a temporary memory of its own."
    )
    turns = click.option("--turns", is_flag=True, help="With --locomo: a note is a turn, not a session.")
    return locomo(turns(command))


def _mode_option(name: str, default: Mode) -> Callable[..., Any]:
    choice = click.Choice(MODES)
    return click.option(name, type=choice, default=default, show_default=True, help="How notes are ranked.")


svg_option = click.option("--svg", "picture", type=_FILE, metavar="FILE", help="Write a chart to this file, too.")
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The seed of the random choice."
)


@click.group()
def command() -> None:
    """Measure how well searches find notes.

    A case is a query with the ids of the notes that answer it. `build` makes cases from your notes, `run` searches for
    them, `compare` says whether two rankings differ by more than noise. No note is changed.
    """


@command.command()
@click.argument("cases", type=_FILE, metavar="[FILE]", required=False)
@_locomo_options
@_mode_option("--mode", "fused")
@svg_option
@as_json
def run(cases: Path | None, locomo: Path | None, turns: bool, mode: Mode, picture: Path | None, as_json: bool) -> None:
    """Search for the cases of FILE, a JSON object {"query", "relevant_ids", "kind"} per line, and measure the hits.

    Recall@k is the share of the relevant notes among the first k hits, MRR the mean of 1 / rank of the first one of
    them (0 beyond the 50th), precision the share of relevant notes among the hits of a search for 8. Tokens are what
    their titles and bodies cost an agent, at four characters each; times are measured in this process. An interval
    holds 95 % of 10,000 resamples of the cases.

    \b
    In a pipe, a line for all cases and for each kind: kind, cases, Recall@1, 3, 5, 8, 10, MRR, precision,
    tokens, p50 ms, p95 ms, separated by tabs.
    JSON: {"mode", "notes", "n_cases", "recall_at": {K: SHARE}, "mrr", "hit_at": {K: SHARE}, "precision",
           "tokens", "p50", "p95", "intervals": {MEASURE: [MEAN, LOW, HIGH]}, "kinds": {KIND: {...}},
           "outcomes": [{"query", "kind", "relevant", "ranks", "shown", "tokens", "milliseconds"}]}
    """
    if (cases is None) == (locomo is None):
        raise click.UsageError("Give either a FILE of cases or --locomo FILE.")
    from anamnesis.eval.intervals import intervals
    from anamnesis.eval.report import report_of
    from anamnesis.eval.saved import report_as_dict

    (found,), notes = _measure(cases, locomo, turns, [mode])
    report, bounds = report_of(found), intervals(found)
    heading = f"{counted(report.n_cases, 'case')}, {counted(notes, 'note')}, mode {mode}"
    if picture:
        kinds = {kind or "other": each.outcomes for kind, each in report.kinds.items()}
        _write_chart(picture, f"Recall: {heading}", {"all": found, **kinds})
    if as_json:
        print_json({"mode": mode, "notes": notes, **report_as_dict(report), "intervals": bounds})
    elif on_terminal():
        from anamnesis.cli.eval_drawing import draw_report

        draw_report(heading, report, bounds)
    else:
        rows = [("all", report), *report.kinds.items()]
        print_lines([_line(kind, each) for kind, each in rows])


@command.command()
@click.option("-o", "--output", type=_FILE, metavar="FILE", help="A new file for the cases; else they are printed.")
@click.option("-n", "number", type=click.IntRange(min=1), default=30, show_default=True, help="At most this many.")
@click.option("--rule", "by_rule", is_flag=True, help="Use the rule even if a model is configured.")
@seed_option
@as_json
def build(output: Path | None, number: int, by_rule: bool, seed: int, as_json: bool) -> None:
    """Make cases from your notes, one for a note, from all projects in turn.

    The model that summarises sessions, if one is configured, writes a query for each note in its own words. Without a
    model, the query is the title of a superseded note, or a sentence without the words of the title, identifiers and
    rare words. Read the cases, and delete those that nobody would ask.

    \b
    Prints a JSON object per line: {"query", "relevant_ids", "kind", "note_titles", "source"}.
    JSON: {"cases": [{...}], "source", "file"}
    """
    from anamnesis.eval.candidates import BY_RULE, build_eval_candidates
    from anamnesis.eval.cases import as_dict, save_eval_set
    from anamnesis.reflect import ask

    reflection = settings().reflection
    uses_model = reflection.provider != "heuristic" and not by_rule
    client = partial(ask, reflection) if uses_model else None
    if output and output.exists():
        raise InvalidArgument(f"{output} exists.", "Name another file, or remove it first.")
    with open_store(only_to_read=True) as store, counting_bar("Making cases", number) as advance:
        cases = build_eval_candidates(store, client, reflection.model, n=number, seed=seed, progress=advance)
    if not cases:
        raise InvalidArgument("No case could be made.", "Cases need semantic or procedural notes with whole sentences.")
    if output:
        save_eval_set(output, cases)
    if as_json:
        source = reflection.model if uses_model else BY_RULE
        print_json({"cases": [as_dict(case) for case in cases], "source": source, "file": output and str(output)})
    elif output:
        click.echo(f"Wrote {counted(len(cases), 'case')} to {output}.")
    else:
        for case in cases:
            click.echo(escaped(json.dumps(as_dict(case), ensure_ascii=False)))


@command.command()
@click.argument("files", type=_FILE, metavar="[FILE] [OTHER]", nargs=-1)
@_locomo_options
@_mode_option("--a", "words")
@_mode_option("--b", "fused")
@svg_option
@seed_option
@as_json
def compare(
    files: tuple[Path, ...],
    locomo: Path | None,
    turns: bool,
    a: Mode,
    b: Mode,
    picture: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Compare two rankings on the cases of FILE, or two reports of `eval run --json` on the same cases.

    Both search for the same cases. The interval holds the difference, B minus A, of 95 % of 10,000 resamples of the
    cases; if it contains 0, the difference may be noise.

    \b
    In a pipe, a line for each measure: measure, A, B, difference, low, high, separated by tabs.
    JSON: {"a", "b", "n_cases", "differences": [{"measure", "a", "b", "difference", "low", "high", "is_noise"}],
           "verdict"}
    """
    if len(files) + 2 * bool(locomo) not in (1, 2) or (locomo and files):
        raise click.UsageError("Give a FILE of cases, two reports, or --locomo FILE.")
    from anamnesis.eval.intervals import compare as compared
    from anamnesis.eval.intervals import verdict
    from anamnesis.eval.saved import load_outcomes

    if len(files) == 2:
        names, found = [str(file) for file in files], [load_outcomes(file) for file in files]
    elif a == b:
        raise click.UsageError(f"--a and --b are both {a}.")
    else:
        names = [a, b]
        found, _ = _measure(files[0] if files else None, locomo, turns, [a, b])
    differences = compared(found[0], found[1], seed=seed)
    sentence = verdict(differences, names[0], names[1], len(found[0]))
    if picture:
        _write_chart(picture, f"Recall: {counted(len(found[0]), 'case')}", dict(zip(names, found, strict=True)))
    if as_json:
        facts = {"a": names[0], "b": names[1], "n_cases": len(found[0])}
        print_json({**facts, "differences": [_as_dict(each) for each in differences], "verdict": sentence})
    elif on_terminal():
        from anamnesis.cli.eval_drawing import draw_differences

        draw_differences(names, differences, sentence)
    else:
        print_lines(
            [(each.measure, *(f"{value:.4f}" for value in (each.a, each.b, *each.interval))) for each in differences]
        )
        click.echo(sentence, err=True)


def _as_dict(difference: MeasureDifference) -> dict[str, Any]:
    interval = difference.interval
    values = {"measure": difference.measure, "a": difference.a, "b": difference.b, "difference": interval.mean}
    return {**values, "low": interval.low, "high": interval.high, "is_noise": difference.is_noise}


def _measure(
    cases: Path | None, locomo: Path | None, turns: bool, modes: Sequence[Mode]
) -> tuple[list[list[CaseResult]], int]:
    """The outcomes of all cases by each mode, and the number of notes that were searched."""
    from anamnesis.eval.measuring import ask, by_mode

    found: list[list[CaseResult]] = [[] for _ in modes]
    total = 0
    for name, store, some in _own_memory(cases) if cases else _locomo_memories(locomo or Path(), turns):
        total += store.count()
        pending = 0 if set(modes) == {"words"} else store.ranking.pending()
        with counting_bar(in_a_line(name), pending + len(some) * len(modes)) as advance:
            if pending:
                store.embed(advance)
            for outcomes, mode in zip(found, modes, strict=True):
                outcomes += ask(by_mode(store, mode), some, progress=advance)
    return found, total


def _own_memory(path: Path) -> Iterator[tuple[str, MemoryStore, list[EvalCase]]]:
    """This home's memory, with the cases of a file whose notes it has."""
    from anamnesis.eval.cases import answerable, load_eval_set

    given = load_eval_set(path)
    with open_store(only_to_read=True) as store:
        store.ranking.ranker = None  # a busy daemon would rank by words alone
        cases = answerable(given, {note.id for note in store.list()} - store.superseded_ids())
        if not cases:
            raise InvalidArgument(
                f"None of the notes in {path} exists in {store.root}.", "Check that the file belongs to this memory."
            )
        if left := len(given) - len(cases):
            left_out = counted(left, "case is left out: its", "cases are left out: their")
            click.echo(f"{left_out} notes do not exist or are superseded.", err=True)
        yield "Measuring", store, cases


def _locomo_memories(path: Path, turns: bool) -> Iterator[tuple[str, MemoryStore, list[EvalCase]]]:
    """A temporary memory for each conversation."""
    from anamnesis.eval.locomo import read_locomo

    conversations = read_locomo(path, turns=turns)
    for number, each in enumerate(conversations, start=1):
        with tempfile.TemporaryDirectory() as folder, MemoryStore(folder) as store:
            store.put_all(each.notes)
            yield f"{each.name}, {number} of {len(conversations)}", store, each.cases


def _line(kind: str, report: RecallReport) -> list[str]:
    shares = (*report.recall_at.values(), report.mrr, report.precision)
    costs = (f"{report.tokens:.0f}", f"{report.p50:.2f}", f"{report.p95:.2f}")
    return [kind or "-", str(report.n_cases), *(f"{share:.4f}" for share in shares), *costs]


def _write_chart(path: Path, title: str, series: Mapping[str, Sequence[CaseResult]]) -> None:
    from anamnesis.eval.chart import svg

    try:
        path.write_text(svg(title, series), encoding="utf-8")
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be written: {error.strerror}.") from error
