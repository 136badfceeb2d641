"""`anamnesis show`: shows one note."""

from __future__ import annotations

import time
from typing import Any

import click

from anamnesis.age import age
from anamnesis.cli.naming import full_id
from anamnesis.cli.options import as_json, note_id, open_store
from anamnesis.cli.output import console, on_terminal, print_json, report_unreadable
from anamnesis.notes import Memory, as_dict, render
from anamnesis.notes.foreign import Origin, claim_of
from anamnesis.notes.marks import mark_sentences, marks_of
from anamnesis.plural import counted
from anamnesis.store.question import Marks
from anamnesis.store.recording import record
from anamnesis.store.spaces import shared_space_of
from anamnesis.store.strength import KINDS
from anamnesis.store.use_report import use_report, uses_by_week

_BARS = " ▁▂▃▄▅▆▇█"


@click.command()
@note_id()
@as_json
def command(note_id: str, as_json: bool) -> None:
    """Show a note: drawn on a terminal, as its file in a pipe.

    ID is a note's id or a part of one, a title, or @1 for the first line of the last list or search. A terminal also
    shows how often the note was used on this machine, in all and in each week of the last half year.

    \b
    JSON: as in search, without "score"; with "use": {"uses", "sessions", "last_use", "strength", "stability",
    "staleness", "history": [{"at", "kind", "session"}]} and how often the note was injected, recalled, found, opened,
    cited, edited and superseded; with "space" if others read it.

    For a note that is not yours, it says where it comes from, and for one that others read too, in which space it is;
    in a pipe on stderr. The marks of dreams are shown: the
    note that outdates it or that it outdates, notes that contradict it, code that is gone, the durable note that a
    reflection made of an episode.
    """
    now = time.time()
    with open_store(only_to_read=True) as store:
        report_unreadable(store)
        note = store.get(full_id(store, note_id))
        store.usage.take_in()
        events = store.usage.events(note.id)
        use = use_report(note, store.usage.of([note.id]).get(note.id), events, now)
        marks = store.marks([note.id]).get(note.id, Marks())._replace(origin=store.origins([note]).get(note.id))
        space = shared_space_of(store, note)
        record(store.root, "opened", [note.id])
    if as_json:
        print_json({**as_dict(note), **marks.shown(), **({"space": space} if space else {}), "use": use})
    elif on_terminal():
        _draw(note, marks.origin, space, _use_lines(use, uses_by_week(events, now)))
    else:
        click.echo(render(note), nl=False)
        if marks.origin:
            click.echo(f"anamnesis: this note is {marks.origin.sentence}.", err=True)
        if space:
            click.echo(f"anamnesis: this note belongs to the space {space}.", err=True)


def _draw(note: Memory, foreign: Origin | None, space: str, used: str) -> None:
    from rich.markdown import Markdown
    from rich.panel import Panel
    from rich.text import Text

    origin = f"{note.prov_source}, {claim_of(note)}, confidence {note.confidence:g}"
    place = f"space {space}" if space else note.scope
    facts = f"{note.type} · {note.project} · {place} · {age(note.updated_at)} · {origin}"
    if note.tags:
        facts += "\n" + " ".join(f"#{tag}" for tag in note.tags)
    if note.superseded:
        facts += f"\nsupersedes {' '.join(note.superseded)}"
    sentences = [*([foreign.sentence] if foreign else ()), *mark_sentences(marks_of(note))]
    facts += "".join(f"\n{each}" for each in sentences)
    screen = console()
    screen.print(
        Panel(Text(f"{facts}\n{used}", "dim"), title=Text(note.title, "bold"), subtitle=note.id, title_align="left")
    )
    screen.print(Markdown(note.body, hyperlinks=False))


def _use_lines(use: dict[str, Any], weeks: list[int]) -> str:
    """The use of a note in a line or two."""
    times = [f"{kind} {use[kind]}×" for kind in KINDS if use.get(kind)]
    rest = [*times, f"in {counted(use['sessions'], 'session')}"] if times else ["never used"]
    lines = [" · ".join([f"strength {use['strength']:.2f}", *rest])]
    if most := max(weeks):
        drawn = "".join(_BARS[-(-count * (len(_BARS) - 1) // most)] for count in weeks)
        lines.append(f"{drawn.lstrip()} by week, last used {age(use['last_use'])}")
    return "\n".join(lines)
