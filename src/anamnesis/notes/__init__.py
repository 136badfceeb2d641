"""What a note is: its record, its markdown form, its id. Pure: no I/O, no clock."""

from anamnesis.notes.markdown import decode, front_of, named_ids, parse, render
from anamnesis.notes.record import (
    COUNTS,
    PINNED,
    SCOPES,
    SOURCES,
    TYPES,
    Memory,
    MemoryType,
    Scope,
    as_dict,
    check_id,
    file_time,
    utc_time,
    validate,
    writable,
)
from anamnesis.notes.ulid import derived_id, ending_of, has_time, moment_of, number_of, ulid, ulid_of

__all__ = [
    "COUNTS",
    "PINNED",
    "SCOPES",
    "SOURCES",
    "TYPES",
    "Memory",
    "MemoryType",
    "Scope",
    "as_dict",
    "check_id",
    "decode",
    "derived_id",
    "ending_of",
    "file_time",
    "front_of",
    "has_time",
    "moment_of",
    "named_ids",
    "number_of",
    "parse",
    "render",
    "ulid",
    "ulid_of",
    "utc_time",
    "validate",
    "writable",
]
