"""The prose of a message, in lines and sentences: no code, logs, quotations, tables or markup. Pure and linear."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCES = ("```", "~~~")
_TRACE = "Traceback (most recent call last)"
# Lines of programs: prompts, markup, data, diffs, log records, stack frames and errors.
_NOT_PROSE = re.compile(
    r"[>|<{}\\@]|\[\d|\[[A-Z]{3,}|[$%] |\$\w|[+]{2}|[-]{3}|//|/\*|diff --git|commit [0-9a-f]{7}"
    r"|\d{4}-\d\d-\d\d[T ]\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:|(?:File \"|at [\w.$<>]+[ (])"
    r"|(?:error|warning|fatal|panic|note|help)(?:\[\w+\])?: |(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE|E|FAILED)[: ]"
    r"|[\w.]*(?:Error|Exception|Warning): |(?:npm|make|cargo|git|pip)(?:\[\d+\])?(?: ERR!|:) "
)
_CODE_END = ("{", "}", ";", "=>", "\\", "(", "&&")
_HEADING = re.compile(r"#{1,6}[ \t]++(?=\S)")
_ITEM = re.compile(r"(?:[-*•+·]|\d{1,3}[.)、])[ \t]++|[①-⑳・]")
_TASK_MARK = re.compile(r"\[[ xX]\][ \t]++")
# Where a sentence may end; `_is_end` decides by the text around it.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"')\]”’»]*+\s++|[。！？]++[」』）]*+")
_ABBREVIATIONS = ("e.g.", "i.e.", "vs.", "cf.", "approx.", "z.b.", "d.h.", "bzw.", "p.ej.", "no.", "fig.", "resp.")
# Words that begin an English sentence, and follow no German ordinal.
_OPENERS = ("The", "A", "An", "It", "This", "That", "These", "We", "You", "They", "If", "When", "Then", "There", "No")
ENDS = (".", "!", "?", ":", "。", "！", "？", "：", "…")
_SOFT_WRAP = 60
_LONGEST_LINE = 4_000


@dataclass(frozen=True, slots=True)
class Line:
    """A line of prose, without its marker. Lines of one paragraph or list share the `block`."""

    text: str
    block: int
    is_heading: bool = False
    is_item: bool = False
    # An indented line is code, unless it continues a wrapped line.
    is_indented: bool = False


def prose(text: str) -> list[Line]:
    """The lines of prose in a message. Wrapped lines are joined."""
    lines: list[Line] = []
    for line in _lines(text):
        before = lines[-1] if lines else None
        if before and _continues(before, line):
            lines[-1] = Line(f"{before.text} {line.text}", before.block, is_item=before.is_item)
        elif not line.is_indented:
            lines.append(line)
    return lines


def sentences(line: str) -> Iterator[str]:
    """The sentences of a line."""
    start = 0
    for found in _END.finditer(line):
        if _is_end(line, found):
            yield line[start : found.end()].strip()
            start = found.end()
    if rest := line[start:].strip():
        yield rest


def _lines(text: str) -> Iterator[Line]:
    block, fence, in_trace = 0, "", False
    for raw in text.splitlines():
        line = raw.strip()
        if fence or line.startswith(_FENCES):
            if not fence:
                fence = line[:3]
            elif line.startswith(fence):
                fence = ""
            block += 1
            continue
        in_trace = (in_trace and bool(line)) or line.startswith(_TRACE)
        if not line or in_trace:
            block += 1
        elif found := _line(raw, line, block):
            block += found.is_heading
            yield found
            block += found.is_heading


def _line(raw: str, line: str, block: int) -> Line | None:
    """A line as prose; None if it is program output, code or a quotation."""
    if len(line) > _LONGEST_LINE:
        return None
    if heading := _HEADING.match(line):
        return Line(_plain(line[heading.end() :].rstrip("# ")), block, is_heading=True)
    item = _ITEM.match(line)
    if line.endswith(_CODE_END):
        return None
    body = line[item.end() :] if item else line
    body = _TASK_MARK.sub("", body, 1) if item else body
    if _NOT_PROSE.match(body):
        return None
    if not item and body.startswith("**") and body.rstrip(":").endswith("**") and body.count("**") == 2:
        return Line(_plain(body), block, is_heading=True)
    is_indented = not item and raw.startswith(("    ", "\t"))
    return Line(plain, block, is_item=bool(item), is_indented=is_indented) if (plain := _plain(body)) else None


def _plain(text: str) -> str:
    """A text without marks of emphasis."""
    return " ".join(text.replace("**", "").replace("__", "").split())


def _continues(before: Line, line: Line) -> bool:
    """Whether a line continues a wrapped one."""
    return (
        before.block == line.block
        and not (line.is_item or line.is_heading or before.is_heading)
        and len(before.text) >= _SOFT_WRAP
        and not before.text.endswith(ENDS)
    )


def _is_end(line: str, found: re.Match[str]) -> bool:
    if found.end() >= len(line) or not found[0][0].isascii():
        return True
    start, _, before = line[: found.start() + 1].casefold().rpartition(" ")
    after = line[found.end()]
    if before in _ABBREVIATIONS:
        return False
    if found[0][0] == "." and before[:-1].isdigit() and len(before) < 4:  # "on the 4. März", or "at 7. The next"
        return bool(start) and line[found.end() :].partition(" ")[0] in _OPENERS
    # People often begin a sentence in lower case; after a short word with a dot, it is rather an abbreviation.
    return not after.islower() or len(before) > 3 or found[0][0] != "."
