"""A change as its reader would want to see it: what comes and what goes, with other people's secrets taken out."""

from __future__ import annotations

import difflib

from anamnesis.notes.redaction import redact
from anamnesis.onboard.plan import Change


def diff(change: Change) -> str:
    """The unified diff of a change. What stands around our lines may be a key for another server."""
    old = (change.old or b"").decode("utf-8", "replace").splitlines()
    new = (change.new or b"").decode("utf-8", "replace").splitlines()
    before = str(change.file) if change.old is not None else "/dev/null"
    after = str(change.file) if change.new is not None else "/dev/null"
    lines = difflib.unified_diff(old, new, before, after, lineterm="")
    return "".join(f"{line if line.startswith(('---', '+++', '@@')) else redact(line)}\n" for line in lines)
