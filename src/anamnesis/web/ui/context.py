"""The context that sessions get: a preview for a folder and a prompt, and the log of injections."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from anamnesis.at_hand import at_hand
from anamnesis.config import read_anew
from anamnesis.errors import InvalidArgument
from anamnesis.eval.report import estimate_tokens
from anamnesis.inject import notice_of, render_recall, select_recall, session_start, why_injected
from anamnesis.notes import Memory
from anamnesis.notes.record import GLOBAL
from anamnesis.project import find_project
from anamnesis.recall.relevance import LONGEST_QUERY
from anamnesis.store import MemoryStore
from anamnesis.timeline import recently_received
from anamnesis.web.lanes import Lane
from anamnesis.web.ui.notes import hit_summary
from anamnesis.web.ui.view import Data, PageRequest, Site, View, summary

_MOST_EVENTS = 60
_MOST_HITS = 10


def _read(site: Site, request: PageRequest) -> Data:
    store, settings = site.vault.notes, site.settings
    folder, prompt = request.query.get("folder", "").strip(), request.query.get("prompt", "").strip()[:LONGEST_QUERY]
    project, notice, hints = request.query.get("project") or GLOBAL, "", list[str]()
    if folder:
        place = _folder(folder)
        found = find_project(place, settings.home, settings.user_home)
        project, notice, hints = found.key, notice_of(found), at_hand(place)
    budget = int(read_anew(settings, "inject_budget").valid)
    start = session_start(store, project=project, budget=budget, at_hand=hints, notice=notice)
    at_prompt = select_recall(store, prompt, project=project, known=start.told) if prompt else []
    reasons = [
        {
            **summary(note),
            "reason": why_injected(note, project=project, at_hand=hints),
            "is_cut": note.id not in start.told,
        }
        for note in start.notes
    ]
    return {
        "project": project,
        "hints": hints,
        "budget": budget,
        "start": _section(reasons, start.text),
        "prompt": _section(_explained(store, prompt, project, at_prompt), render_recall(at_prompt)),
        "log": recently_received(store, _MOST_EVENTS),
    }


def _folder(given: str) -> Path:
    """The folder that the user names, whose project is used."""
    place = Path(given)
    if not place.is_absolute() or not place.is_dir():
        raise InvalidArgument(f"{given[:200]!r} is not a folder of this machine.", "Give its full path.")
    return place


def _section(notes: list[Data], text: str) -> Data:
    """What a session gets: the notes, also those that were cut, and how many it is told."""
    told = sum(not note.get("is_cut") for note in notes)
    return {"notes": notes, "told": told, "text": text, "tokens": estimate_tokens(text)}


def _explained(store: MemoryStore, prompt: str, project: str, notes: Sequence[Memory]) -> list[Data]:
    """The notes that a prompt adds, each with the explanation of a search for the prompt."""
    places = dict.fromkeys((project, GLOBAL)) if notes else ()
    hits = [hit for place in places for hit in store.hits(prompt, project=place, k=_MOST_HITS, explain=True)]
    found = {hit.memory.id: hit_summary(hit) for hit in hits}
    return [found.get(note.id) or summary(note) for note in notes]


VIEWS = (View("/told", "context.html", _read, Lane.SEARCH),)
