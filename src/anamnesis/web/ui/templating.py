"""The templates of the pages, and what they show of notes, times and figures. Every value is escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from anamnesis.plain import one_line, plain
from anamnesis.plural import counted
from anamnesis.web.ui.differences import folded, marked
from anamnesis.web.ui.markdown import rendered
from anamnesis.web.ui.pictures import area, bars, share

_TEMPLATES = Path(__file__).with_name("templates")
_LONGEST_LINE = 160
_LONGEST_EXCERPT = 300
# What marks a text up in an excerpt: code, emphasis, headings, quotes, tables and links.
_MARKUP = re.compile(r"`+|\*\*?|^#+ |^> |\||\[\[|\]\]", re.MULTILINE)
_UNITS = ((60, "s"), (60, "min"), (24, "h"), (7, "d"), (5, "w"))


def render(template: str, data: Mapping[str, Any]) -> str:
    return environment().get_template(template).render(data)


@cache
def environment(*more: Path) -> Environment:
    """The templates of this folder, and those of other sites that use them."""
    made = Environment(
        loader=FileSystemLoader([_TEMPLATES, *more]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=lambda value: "" if value is None else value,
    )
    made.filters |= {
        "line": lambda text: one_line(text, _LONGEST_LINE),
        "plain": plain,
        "markdown": rendered,
        "unmarked": lambda text: _MARKUP.sub("", text),
        "excerpt": lambda text: one_line(_MARKUP.sub("", text), _LONGEST_EXCERPT),
        "short": short,
        "ago": ago,
        "since": since,
        "moment": lambda moment: local(moment, "%Y-%m-%d %H:%M"),
        "clock": lambda moment: local(moment, "%H:%M"),
        "date": lambda moment: local(moment, "%A, %d %B %Y").replace(" 0", " "),
        "day": day,
        "number": lambda value: f"{value:,}",
        "percent": lambda value: f"{value:.0%}",
    }
    made.globals |= {"with_query": with_query, "area": area, "bars": bars, "share": share, "counted": counted}
    made.globals |= {"folded": folded, "marked": marked}
    return made


def short(project: str) -> str:
    """A project without the host of its repository."""
    host, _, rest = project.partition("/")
    return rest if rest and "." in host else project


def local(moment: str, form: str) -> str:
    """A moment in the time of this machine; as it is if it is none."""
    try:
        return datetime.fromisoformat(moment).astimezone().strftime(form)
    except (ValueError, OverflowError):
        return moment


def day(moment: str) -> str:
    """A day as people write it, such as 3 May."""
    then = datetime.fromisoformat(moment)
    return f"{then.day} {then:%b}"


def with_query(asked: Mapping[str, str], **changes: str | int | None) -> str:
    """The query of this page with some values changed, for a link; without empty ones and what was done before it."""
    query = {
        **asked,
        "done": "",
        "undo": "",
        "sign": "",
        **{name: "" if value is None else str(value) for name, value in changes.items()},
    }
    return "?" + urlencode({name: value for name, value in query.items() if value})


def since(moment: str) -> str:
    """How long ago a moment was, or on which day."""
    elapsed = ago(moment)
    return f"on {elapsed}" if elapsed == moment[:10] else f"{elapsed} ago"


def ago(moment: str) -> str:
    """The time since a moment in one unit, or its day if it is long ago."""
    try:
        elapsed = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return moment
    if elapsed < 0:
        return moment[:10]
    for size, unit in _UNITS:
        if elapsed < size:
            return f"{int(elapsed)} {unit}"
        elapsed /= size
    return moment[:10]
