"""Applies a cleaning function to every text of a row. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# Cleans texts that belong together.
Clean = Callable[[Sequence[str]], list[str]]
Row = TypeVar("Row", bound="DataclassInstance")

# Identities and times: rows are found by them.
_FORMAL = frozenset(
    ("sync_id", "started_at", "ended_at", "created_at", "updated_at", "deleted_at", "last_seen_at", "exported_at")
)


def cleaned(row: Row, clean: Clean) -> Row:
    """A row, or an export with its rows, with the texts of each cleaned together; identities and times stay."""
    values = {name: getattr(row, name) for name in _names(type(row))}
    given = {name: value for name, value in values.items() if isinstance(value, str) and value}
    texts = dict(zip(given, clean([*given.values()]), strict=True))
    changes: dict[str, Any] = {name: text for name, text in texts.items() if text != given[name]}
    for name, value in values.items():
        if isinstance(value, tuple):
            changes[name] = tuple(cleaned(each, clean) for each in value)
    return replace(row, **changes) if changes else row


@cache
def _names(kind: type[DataclassInstance]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name not in _FORMAL)
