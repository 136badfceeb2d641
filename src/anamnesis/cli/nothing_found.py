"""What a person is shown where a search found nothing: what to try next."""

from __future__ import annotations

import re

from anamnesis.recall.query import asked
from anamnesis.store import MemoryStore


def nothing_found(store: MemoryStore, query: str, project: str | None, *, filtered: bool) -> list[str]:
    """The lines to show. `filtered` is a search that has another filter than the project."""
    terms = asked(query).terms
    if not terms:
        return ["Nothing found: the query has no words."]
    if not store.count():
        return ['Nothing found: there are no notes yet. Write one: anamnesis write "Title" "What to remember"']
    spelling, projects = store.suggest(query)
    lines = []
    if spelling:
        corrected = re.sub(r"\w+", lambda match: spelling.get(match[0], match[0]), query)
        lines.append(f"Did you mean: {corrected}")
    if projects and (project or filtered):
        found = ", ".join(f"{name} ({count})" for name, count in projects.items())
        lines.append(f"Without {'filters' if filtered else 'the project'}, these projects have matches: {found}")
    if not projects and any(" " in term for term in terms):
        lines.append("Without the quotes, any of the words is enough.")
    where = f" -p {project}" if project else ""
    return [
        f"Nothing found{f' in {project}' if project else ''}.",
        *(lines or [f"Try other words, or: anamnesis list{where}"]),
    ]
