"""The time since a moment: 3 d ago, or 3d in narrow columns."""

from __future__ import annotations

from datetime import UTC, datetime

# Units of time with their seconds.
UNITS = (("y", 31_536_000), ("mo", 2_592_000), ("w", 604_800), ("d", 86_400), ("h", 3600), ("min", 60))


def age(moment: str) -> str:
    """The time since a moment, as one number and a unit."""
    elapsed = _elapsed(moment)
    if elapsed is None:
        return moment
    if elapsed < 0:
        return moment[:10]
    count, unit = _in_units(elapsed)
    return f"{count} {unit} ago" if count else "just now"


def brief_age(moment: str) -> str:
    """The time since a moment, in at most five characters."""
    elapsed = _elapsed(moment)
    if elapsed is None:
        return "?"
    count, unit = _in_units(elapsed)
    return f"{count}{unit}" if count else "now"


def _elapsed(moment: str) -> float | None:
    """The seconds since a moment; None if the text is not a time."""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    except (ValueError, TypeError):
        return None


def _in_units(seconds: float) -> tuple[int, str]:
    """The seconds in the largest unit that fits, rounded down; 0 below a minute."""
    for unit, length in UNITS:
        if seconds >= length:
            return int(seconds // length), unit
    return 0, ""
