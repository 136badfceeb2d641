"""Text that a person gives: decoded, with a sentence on what had to be done for it, or typed in an editor."""

from __future__ import annotations

import codecs
import os
import re
import sys

import click

from anamnesis.errors import InvalidArgument, InvalidNote
from anamnesis.plural import counted

# Control characters that no text contains; tab, line ends, backspace and escape occur in logs.
_BINARY = re.compile(rb"[\x00-\x07\x0e-\x1a\x1c-\x1f]")
_REPLACEMENT = "\ufffd"


def decoded(data: bytes) -> tuple[str, str]:
    """The text, and one sentence if it is not UTF-8. Without any character in UTF-8, it is Latin-1."""
    try:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return data.decode("utf-16"), "The text is not UTF-8; it was read as UTF-16."
        if b"\0" not in data:
            return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        pass
    if _BINARY.search(data):
        raise InvalidNote("The input is not text, but binary.", "Give the note as text.")
    text = data.decode("utf-8-sig", "replace")
    if text.replace(_REPLACEMENT, "").isascii():
        return _latin_1(data), "The text is not UTF-8; it was read as Latin-1."
    count = text.count(_REPLACEMENT) - data.count(_REPLACEMENT.encode())
    are, were = ("is", "it was") if count == 1 else ("are", "they were")
    return text, f"{counted(count, 'part')} of the text {are} not UTF-8; {were} replaced by {_REPLACEMENT}."


def decoded_argument(text: str) -> tuple[str, str]:
    """An argument, in which Python has put lone surrogates for bytes that are not UTF-8."""
    try:
        text.encode()
        return text, ""
    except UnicodeEncodeError:
        return decoded(os.fsencode(text))


def _latin_1(data: bytes) -> str:
    """Latin-1 as it is used: with the quotes and dashes of Windows where they are defined."""
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def edited(text: str) -> str | None:
    """The text as the user edited it; None if nothing was saved."""
    program = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not program and not sys.stdin.isatty():
        raise InvalidArgument("No editor is named.", "Name one in VISUAL or EDITOR.")
    try:
        return click.edit(text, extension=".md", require_save=True)
    except (ValueError, click.ClickException) as error:
        reason = error.message if isinstance(error, click.ClickException) else str(error)
        raise InvalidArgument(
            f"The editor {program or 'of this system'} cannot be used: {reason.removeprefix(f'{program}: ')}.",
            "Name another in VISUAL or EDITOR.",
        ) from error
