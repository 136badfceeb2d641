"""Shell completion of notes, projects, tags and settings; nothing is offered on an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click
from click.shell_completion import CompletionItem

from anamnesis.cli.context import settings
from anamnesis.config import SETTINGS
from anamnesis.store import MemoryStore
from anamnesis.store.lookup import tags
from anamnesis.store.projects import one_each

_MOST_OFFERED = 30
_MOST_NOTES = 500

Offer = tuple[str, str]  # a word and its description
Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _from_store(offers: Callable[[MemoryStore, str], Iterator[Offer]]) -> Completion:
    """A completion from the store. It opens only the notes, and no engram.db."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            with MemoryStore(settings(context).home, only_to_read=True) as store:
                found = [CompletionItem(word, help=help) for word, help in offers(store, incomplete)]
        except Exception:  # a traceback would be printed into the command line
            return []
        return found[:_MOST_OFFERED]

    return complete


def _notes(store: MemoryStore, incomplete: str) -> Iterator[Offer]:
    started = incomplete.upper()
    for note in store.list(limit=_MOST_NOTES):
        if note.id.upper().startswith(started):
            yield note.id, note.title


def _projects(store: MemoryStore, incomplete: str) -> Iterator[Offer]:
    """Full keys, also found by their last part."""
    for key in one_each(store.projects()):
        lower = key.lower()
        if lower.startswith(incomplete.lower()) or lower.rpartition("/")[2].startswith(incomplete.lower()):
            yield key, ""


def _tags(store: MemoryStore, incomplete: str) -> Iterator[Offer]:
    for tag in tags(store):
        if tag.lower().startswith(incomplete.lower()):
            yield tag, ""


complete_notes = _from_store(_notes)
complete_projects = _from_store(_projects)
complete_tags = _from_store(_tags)


def complete_settings(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(each.name, help=each.purpose) for each in SETTINGS if each.name.startswith(incomplete)]
