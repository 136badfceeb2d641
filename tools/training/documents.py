"""Pairs from documentation: a title or a heading, with the text below it. Pure."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import NamedTuple

from tools.training.pairs import Pair

# Headings that do not describe their sections.
_EMPTY = """see also|examples|example|specifications|next steps|prerequisites|related content|related links|syntax|value
in this article|inputs|outputs|notes|parameters|summary|what's next|commonparameters|string|none
""".replace("\n", "|").split("|")
_FEWEST_WORDS = 12
# The share of headings that are combined with the page's title, and of sections that give a sentence pair.
_WITH_TITLE, _SENTENCES = 0.6, 0.5
_FRONT_MATTER = re.compile(r"\ufeff?---\n(.*?)\n---\n", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_UNDERLINE = re.compile(r"([=\-~^\"'#*+`])\1{2,}\s*$")


class Section(NamedTuple):
    heading: str
    text: str


def document_pairs(source: str, text: str, chance: random.Random) -> Iterator[Pair]:
    """The pairs of one markdown page.

    The first section answers the page's title and description, each other section its heading. Half of the sections
    also answer one of their own sentences, which is removed from them.
    """
    text = text.replace("\r", "")
    title, description = _title_and_description(text)
    is_first = True
    for heading, body in sections(_FRONT_MATTER.sub("", text, count=1)):
        if len(body.split()) < _FEWEST_WORDS:
            continue
        if is_first and description and description[:40] not in body:
            yield Pair(source, description, body)
        if is_first and title:
            yield Pair(source, title, body)
        elif heading and heading.lower() not in _EMPTY:
            is_with_title = heading != title and chance.random() < _WITH_TITLE
            yield Pair(source, f"{title} {heading}" if is_with_title else heading, body)
        if chance.random() < _SENTENCES:
            yield from _sentence_pair(source, body, chance)
        is_first = False


def sections(markdown: str) -> list[Section]:
    """The text below each heading; a `#` in a fenced block is not a heading."""
    found: list[Section] = []
    heading, lines, is_code = "", list[str](), False
    for line in markdown.split("\n"):
        is_code ^= line.lstrip().startswith("```")
        marked = None if is_code else re.match(r"#{1,5}\s+(.+)", line)
        if not marked:
            lines.append(line)
            continue
        found.append(Section(heading, plain("\n".join(lines))))
        name = re.sub(r"\s*\{[/#].*?\}", "", marked[1].rstrip("# "))
        heading, lines = plain(name).replace("`", ""), []
    return [*found, Section(heading, plain("\n".join(lines)))]


def plain(markdown: str) -> str:
    """Markdown without templates, comments, tags and the targets of links."""
    text = re.sub(r'\{\{\s*\w+\("([^"]+)"(?:,[^}]*)?\)\s*\}\}', r"\1", markdown)
    text = re.sub(r"\{[%{].*?[%}]\}|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"<[^>\n]{1,80}>", "", text)
    return re.sub(r"[ \t]+", " ", text).strip()


def markdown_of(restructured: str) -> str:
    """reStructuredText with markdown headings. Underline characters are levels in the order of their first use."""
    lines, kinds = list[str](), list[str]()
    for line in restructured.split("\n"):
        marked = _UNDERLINE.match(line)
        if not marked:
            lines.append(re.sub(r":[\w:-]+:`~?([^`<]*?)(?:\s*<[^>]*>)?`", r"\1", line))
        elif lines and lines[-1].strip() and len(line.rstrip()) >= len(lines[-1].rstrip()):
            if marked[1] not in kinds:
                kinds.append(marked[1])
            lines[-1] = f"{'#' * min(kinds.index(marked[1]) + 1, 5)} {lines[-1].strip()}"
    return "\n".join(lines)


def _title_and_description(text: str) -> tuple[str, str]:
    front = _FRONT_MATTER.match(text)
    if not front:
        first = re.search(r"^# (.+)$", text, re.MULTILINE)
        return (_without_site(plain(first[1])) if first else ""), ""
    values = dict(re.findall(r"^(\w+):[ \t]*['\"]?(.+?)['\"]?[ \t]*$", front[1], re.MULTILINE))
    about = values.get("description") or values.get("intro") or values.get("MetaDescription") or ""
    return _without_site(plain(values.get("title", ""))), plain(about)


def _without_site(title: str) -> str:
    return title.partition("|")[0].strip()


def _sentence_pair(source: str, body: str, chance: random.Random) -> Iterator[Pair]:
    sentences = _SENTENCE_END.split(body)
    if len(sentences) < 3:
        return
    at = chance.randrange(len(sentences))
    if 5 <= len(sentences[at].split()) <= 30:
        yield Pair(f"{source} sentences", sentences[at], " ".join(sentences[:at] + sentences[at + 1 :]))
