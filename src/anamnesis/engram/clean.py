"""Applies a cleaning function to every text of a row. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Clean = Callable[[str], str]
Row = TypeVar("Row", bound="DataclassInstance")

# Identities and times: rows are found by them.
_FORMAL = frozenset(
    ("sync_id", "started_at", "ended_at", "created_at", "updated_at", "deleted_at", "last_seen_at", "exported_at")
)


def cleaned(row: Row, clean: Clean) -> Row:
    """A row, or an export with its rows, with every text cleaned; identities and times stay."""
    changes: dict[str, Any] = {}
    for name in _names(type(row)):
        value = getattr(row, name)
        if isinstance(value, str):
            if value and (text := clean(value)) != value:
                changes[name] = text
        elif isinstance(value, tuple):
            changes[name] = tuple(cleaned(each, clean) for each in value)
    return replace(row, **changes) if changes else row


@cache
def _names(kind: type[DataclassInstance]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name not in _FORMAL)
