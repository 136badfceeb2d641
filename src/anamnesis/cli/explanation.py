"""Why a search found its notes, drawn on a terminal: the parts of each score as bars, the words, the passage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anamnesis.age import age
from anamnesis.cli.output import in_a_line
from anamnesis.plural import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.text import Text

    from anamnesis.cli.screen import Screen
    from anamnesis.store import Hit
    from anamnesis.store.question import Why

_NAMES = {
    "meaning": "meaning",
    "average": "not embedded",
    "length": "length",
    "words": "words",
    "passage": "best passage",
    "every word": "every word",
    "recent": "recent",
    "sure": "confidence",
    "strong": "strength",
    "at hand": "this project",
}
_WIDEST_NAME = max(map(len, _NAMES.values()))
_WIDEST_BAR = 40
_INDENT = 3


def draw_explained(screen: Screen, hits: Sequence[Hit]) -> None:
    """Print each note with the parts of its score. Bars of all notes have the same scale."""
    from rich.padding import Padding
    from rich.text import Text

    most = max((part for hit in hits if hit.why for part in hit.why.parts.values()), default=0.0)
    width = min(_WIDEST_BAR, max(8, screen.width - _INDENT - _WIDEST_NAME - 10))
    for number, hit in enumerate(hits, start=1):
        note = hit.memory
        style = "dim" if hit.is_weak else "bold"
        screen.print(Text.assemble((f"{number:>2} ", "dim"), (in_a_line(note.title), style)))
        facts = [note.type, note.project, age(note.updated_at), *map(in_a_line, hit.marks.sentences())]
        screen.print(Text(f"   {note.id}  {' · '.join(facts)}", "dim"))
        lines = [
            _summary(hit),
            *(_bars(hit.why, most, width) if hit.why else ()),
            *(_reasons(hit.why) if hit.why else ()),
        ]
        screen.print(Padding(Text("\n").join(lines), (0, 0, 1, _INDENT)))


def _summary(hit: Hit) -> Text:
    from rich.text import Text

    summary = f"score {hit.score:.3f}"
    if hit.fit is not None:
        summary += f" · fits with a probability of {hit.fit:.0%}"
    return Text(summary, "yellow" if hit.is_weak else "green")


def _bars(why: Why, most: float, width: int) -> Iterator[Text]:
    from rich.text import Text

    for name, part in why.parts.items():
        bar = "█" * round(width * part / most) if most > 0 and part > 0 else ""
        shown = f"{part:+.3f}"
        yield Text.assemble(
            f"{_NAMES.get(name, name):<{_WIDEST_NAME}} ", (f"{bar or '▏':<{width}}", "cyan"), f" {shown:>7}"
        )


def _reasons(why: Why) -> Iterator[Text]:
    from rich.text import Text

    facts = why.shown()
    if facts["words"]:
        words = " · ".join(f"{word} {weight:.2f}" for word, weight in facts["words"].items())
        yield Text.assemble(("words: ", "dim"), words)
    if why.evidence:
        covered, close, usual = (why.evidence[name] for name in ("coverage", "closeness", "average"))
        holds = f"{covered:.0%} of what was asked, by weight; {close - usual:+.2f} from the average in meaning"
        yield Text.assemble(("holds: ", "dim"), holds)
    if use := facts["use"]:
        times = f"{counted(int(use['uses']), 'use')} in {counted(int(use['sessions']), 'session')}"
        yield Text.assemble(("used: ", "dim"), f"{times} · strength {use['strength']:.2f}")
    if facts["passage"]:
        yield Text.assemble(("passage: ", "dim"), in_a_line(facts["passage"]))
