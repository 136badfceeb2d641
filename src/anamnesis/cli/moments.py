"""Moments as people write them: a date, a time, or an age such as 7d."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import click

from anamnesis.cli.output import UNITS

_AGE = re.compile(r"([0-9]{1,6}) ?([a-z]{1,3})")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def since(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """The moment from which on notes are wanted: of a day, its beginning."""
    return _moment(text, timedelta(0)) if text else None


def until(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """The moment before which notes are wanted: of a day, its end."""
    return _moment(text, timedelta(days=1)) if text else None


def _moment(text: str, part_of_day: timedelta) -> str:
    """A moment in the form of notes. Days and times without a zone are local ones."""
    plain, now = text.strip().lower(), datetime.now().astimezone()
    days = {"today": now, "yesterday": now - timedelta(days=1)}
    if plain in days:
        plain = days[plain].date().isoformat()
    try:
        age = _AGE.fullmatch(plain)
        if age:
            found = now - timedelta(seconds=int(age[1]) * dict(UNITS)[age[2]])
        else:
            found = datetime.fromisoformat(plain.upper())
            found += part_of_day if _DAY.fullmatch(plain) else timedelta(0)
        return found.astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, KeyError, OverflowError, OSError) as error:
        raise click.BadParameter(
            f"{text!r} is not a moment. Give a date (2026-11-16), a time (2026-11-16T09:30) or an age"
            " (30min, 12h, 7d, 2w, 6mo, 1y)."
        ) from error
