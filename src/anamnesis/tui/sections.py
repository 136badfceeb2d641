"""The sections of the application in the order of their keys. Imported before anything else."""

from __future__ import annotations

SECTIONS = {
    "notes": "Notes",
    "timeline": "Timeline",
    "sessions": "Sessions",
    "review": "Review",
    "told": "Told",
    "fleet": "Fleet",
    "dreams": "Dreams",
    "settings": "Settings",
}
PLACEHOLDER = "Search by words and meaning"
