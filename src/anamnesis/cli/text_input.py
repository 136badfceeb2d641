"""The user's text, from a pipe, an argument or an editor; a sentence reports any decoding other than UTF-8."""

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
# The argument that stands for standard input.
STDIN = "-"
_REPLACEMENT = "\ufffd"


def decoded(data: bytes) -> tuple[str, str]:
    """The text, and a sentence if it is not UTF-8. Text in which no non-ASCII byte is valid UTF-8 is Latin-1."""
    try:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return data.decode("utf-16"), "The text is not UTF-8; it was read as UTF-16."
        if b"\0" not in data:
            return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        pass
    if _BINARY.search(data):
        raise InvalidNote("The input is binary, not text.", "Give the note as text.")
    text = data.decode("utf-8-sig", "replace")
    if text.replace(_REPLACEMENT, "").isascii():
        return _latin_1(data), "The text is not UTF-8; it was read as Latin-1."
    count = text.count(_REPLACEMENT) - data.count(_REPLACEMENT.encode())
    are, were = ("is", "it was") if count == 1 else ("are", "they were")
    return text, f"{counted(count, 'part')} of the text {are} not UTF-8; {were} replaced by {_REPLACEMENT}."


def given_text(argument: str) -> tuple[str, str]:
    """The text of an argument, which for `-` is standard input, and a sentence if it is not UTF-8."""
    if argument != STDIN:
        return decoded_argument(argument)
    text, report = decoded(sys.stdin.buffer.read())
    return text.removesuffix("\n"), report


def decoded_argument(text: str) -> tuple[str, str]:
    """Decode an argument, in which Python puts lone surrogates for bytes that are not UTF-8."""
    try:
        text.encode()
        return text, ""
    except UnicodeEncodeError:
        return decoded(os.fsencode(text))


def _latin_1(data: bytes) -> str:
    """Decode as Windows-1252, which has quotes and dashes; where that is undefined, as Latin-1."""
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def edited(text: str) -> str | None:
    """The text as the user edited it; None if nothing was saved."""
    program = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not program and not sys.stdin.isatty():
        raise InvalidArgument("No editor is set.", "Name one in VISUAL or EDITOR.")
    try:
        return click.edit(text, extension=".md", require_save=True)
    except (ValueError, click.ClickException) as error:
        reason = error.message if isinstance(error, click.ClickException) else str(error)
        raise InvalidArgument(
            f"The editor {program or 'of this system'} cannot be used: {reason.removeprefix(f'{program}: ')}.",
            "Name another in VISUAL or EDITOR.",
        ) from error
