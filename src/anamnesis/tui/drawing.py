"""Draws the texts of notes for Textual: literal, without markup and control characters, with our own styles.

Every text that is not ours passes through `multiline` or `line`; nothing else makes a `Content` of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from textual.content import Content, Span

from anamnesis.age import age, brief_age
from anamnesis.notes import PINNED, Memory
from anamnesis.notes.foreign import claim_of, origin_of
from anamnesis.notes.links import LINK
from anamnesis.notes.marks import mark_sentences, marks_of
from anamnesis.plain import one_line, plain
from anamnesis.store.highlights import Span as Match
from anamnesis.store.highlights import matches

MUTED = "$faint"
# Wrapping a longer text takes noticeably long; an editor shows the rest.
_LONGEST = 60_000
_LONGEST_LINE = 400
_LONGEST_AGE = 5
_MARKDOWN = (
    (re.compile(r"^#{1,6} .*", re.MULTILINE), "bold $primary"),
    (re.compile(r"^(?:```|~~~).*", re.MULTILINE), MUTED),
    (re.compile(r"^ *(?:[-*+]|\d+[.)]) ", re.MULTILINE), "$primary"),
    (re.compile(r"^> .*", re.MULTILINE), "italic $secondary"),
    (re.compile(r"`[^`\n]+`"), "$secondary"),
    (re.compile(r"\*\*[^*\n]+\*\*"), "bold"),
    (LINK, "$primary"),
)
_DIFF = {"+": "$success", "-": "$error", "@": "$primary"}


def multiline(text: str, style: str = "") -> Content:
    """A text of several lines."""
    return _styled(plain(text.replace("\r\n", "\n")).expandtabs(4), style)


def line(text: object, style: str = "", longest: int = _LONGEST_LINE) -> Content:
    """A text as one line."""
    return _styled(in_line(text, longest), style)


def in_line(text: object, longest: int = _LONGEST_LINE) -> str:
    return one_line(str(text), longest)


def _styled(text: str, style: str) -> Content:
    return Content(text, [Span(0, len(text), style)] if style else [])


def lines(parts: Iterable[Content]) -> Content:
    return Content("\n").join(parts)


def padded(text: object, width: int, style: str = "") -> Content:
    """A text cut or filled to a width."""
    cell = line(text, style).truncate(width, ellipsis=True)
    return cell.pad_right(width - cell.cell_length)


def marked(content: Content, query: str) -> Content:
    """A text with the matches of a query highlighted."""
    return stylized(content, matches([content.plain], query)[0]) if query else content


def stylized(content: Content, matched: Iterable[Match]) -> Content:
    """A text with the matched parts highlighted."""
    return content.add_spans([Span(start, end, "bold $accent") for start, end in matched])


def row(
    note: Memory, *, matched: Iterable[Match] = (), weak: bool = False, remark: str = "", project: int = 0
) -> Content:
    """A note in a list: its age, the last part of its project if there is space, its origin or a remark, its title."""
    if not remark and (origin := origin_of(note)):
        remark = origin.brief
    title = stylized(line(note.title, MUTED if weak else ""), matched)
    where = [padded(note.project.rpartition("/")[2], project, "$success"), Content(" ")] if project else []
    return Content.assemble(
        (f"{brief_age(note.updated_at):>{_LONGEST_AGE}} ", MUTED),
        *where,
        ("★ ", "$accent") if PINNED in note.tags else "",
        (f"{remark} ", "$warning") if remark else "",
        title,
    )


def note(memory: Memory, query: str = "") -> Content:
    """A whole note: title, facts and text."""
    return lines([marked(line(memory.title, "bold"), query), *facts(memory), Content(), body(memory.body, query)])


def facts(memory: Memory) -> list[Content]:
    """The metadata of a note."""
    origin = f"{memory.prov_source}, {claim_of(memory)}"
    parts = [memory.type, memory.project, memory.scope, age(memory.updated_at), origin]
    found = [line(" · ".join(parts), MUTED)]
    if memory.tags:
        found.append(line(" ".join(f"#{tag}" for tag in memory.tags), "$success"))
    foreign = origin_of(memory)
    remarks = [*([foreign.sentence] if foreign else ()), *mark_sentences(marks_of(memory))]
    found += [line(each, "$warning") for each in remarks]
    return found


def body(text: str, query: str = "") -> Content:
    """The text of a note, with its markdown coloured but literal."""
    content = multiline(text[:_LONGEST])
    for pattern, style in _MARKDOWN:
        content = content.highlight_regex(pattern, style=style)
    content = marked(content, query)
    if len(text) > _LONGEST:
        content = lines([content, Content(), Content.styled(f"{len(text) - _LONGEST:,} more characters", MUTED)])
    return content


def diff(text: str) -> Content:
    """A unified diff, without its file names."""
    shown = [each for each in text[:_LONGEST].splitlines() if not each.startswith(("--- ", "+++ "))]
    return lines(multiline(each, _DIFF.get(each[:1], "")) for each in shown)


def beside(rows: Sequence[tuple[str | None, str | None, bool]], width: int, heads: tuple[str, str]) -> Content:
    """Two versions side by side; differing lines are coloured."""
    half = max(10, (width - 3) // 2)
    drawn = [*_pair(padded(heads[0], half, "bold $error"), padded(heads[1], half, "bold $success"), half)]
    for old, new, is_same in rows:
        styles = ("", "") if is_same else ("$error", "$success")
        drawn += _pair(multiline(old or "", styles[0]), multiline(new or "", styles[1]), half)
    return lines(drawn)


def _pair(left: Content, right: Content, half: int) -> Iterable[Content]:
    for one, other in zip_longest(left.wrap(half), right.wrap(half), fillvalue=Content()):
        yield Content.assemble(one.pad_right(half - one.cell_length), (" │ ", "$line"), other)
