"""The templates of the pages, and their filters for notes, times and numbers. Every value is escaped."""

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
from anamnesis.web.ui.charts import area, bars, share
from anamnesis.web.ui.differences import folded, marked
from anamnesis.web.ui.markdown import rendered

_TEMPLATES = Path(__file__).with_name("templates")
_LONGEST_LINE = 160
_LONGEST_EXCERPT = 300
# Markup that excerpts omit: code, emphasis, headings, quotes, tables and links.
_MARKUP = re.compile(r"`+|\*\*?|^#+ |^> |\||\[\[|\]\]", re.MULTILINE)
_UNITS = ((60, "s"), (60, "min"), (24, "h"), (7, "d"), (5, "w"))


def render(template: str, data: Mapping[str, Any]) -> str:
    return environment().get_template(template).render(data)


@cache
def environment(*more: Path) -> Environment:
    """The templates of this folder and of `more` folders, whose sites extend them."""
    templates = Environment(
        loader=FileSystemLoader([_TEMPLATES, *more]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=lambda value: "" if value is None else value,
    )
    templates.filters |= {
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
    templates.globals |= {"with_query": with_query, "area": area, "bars": bars, "share": share, "counted": counted}
    templates.globals |= {"folded": folded, "marked": marked}
    return templates


def short(project: str) -> str:
    """A project without the host of its repository."""
    host, _, rest = project.partition("/")
    return rest if rest and "." in host else project


def local(moment: str, form: str) -> str:
    """A moment in the local time of this machine; unchanged if it is not a time."""
    try:
        return datetime.fromisoformat(moment).astimezone().strftime(form)
    except (ValueError, OverflowError):
        return moment


def day(moment: str) -> str:
    """A day as people write it, such as 3 May."""
    then = datetime.fromisoformat(moment)
    return f"{then.day} {then:%b}"


def with_query(asked: Mapping[str, str], **changes: str | int | None) -> str:
    """The query of this page with changed values, for a link; without empty values and the message of the last form."""
    query = {
        **asked,
        "done": "",
        "undo": "",
        "sign": "",
        **{name: "" if value is None else str(value) for name, value in changes.items()},
    }
    return "?" + urlencode({name: value for name, value in query.items() if value})


def since(moment: str) -> str:
    """The time since a moment with "ago", or its day."""
    elapsed = ago(moment)
    return f"on {elapsed}" if elapsed == moment[:10] else f"{elapsed} ago"


def ago(moment: str) -> str:
    """The time since a moment in one unit, or its day if it is more than weeks ago."""
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
