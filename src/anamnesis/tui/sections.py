"""The sections of the application in the order of their keys. Imported before the first frame."""

from __future__ import annotations

SECTIONS = {
    "notes": "Notes",
    "timeline": "Timeline",
    "sessions": "Sessions",
    "review": "Review",
    "context": "Context",
    "fleet": "Fleet",
    "dreams": "Dreams",
    "settings": "Settings",
}
PLACEHOLDER = "Search by words and meaning"
