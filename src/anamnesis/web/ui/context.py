"""The context that sessions get: a preview for a folder and a prompt, and the log of injections."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from anamnesis.at_hand import at_hand
from anamnesis.errors import InvalidArgument
from anamnesis.eval.report import estimate_tokens
from anamnesis.inject import render_inject, render_recall, select_inject, select_recall, why_injected
from anamnesis.notes import Memory
from anamnesis.notes.record import GLOBAL
from anamnesis.project import find_project
from anamnesis.store import MemoryStore
from anamnesis.timeline import recently_received
from anamnesis.web.lanes import Lane
from anamnesis.web.ui.notes import hit_summary
from anamnesis.web.ui.view import Data, PageRequest, Site, View, summary

_MOST_EVENTS = 60
_MOST_HITS = 10
_LONGEST_PROMPT = 20_000


def _read(site: Site, request: PageRequest) -> Data:
    store, settings = site.vault.notes, site.settings
    folder, prompt = request.query.get("folder", "").strip(), request.query.get("prompt", "").strip()[:_LONGEST_PROMPT]
    project, hints = request.query.get("project") or GLOBAL, list[str]()
    if folder:
        place = _folder(folder)
        project, hints = find_project(place, settings.home, settings.user_home).key, at_hand(place)
    budget = settings.inject_budget
    start = select_inject(store, project=project, budget=budget, at_hand=hints)
    known = {note.id for note in start}
    at_prompt = select_recall(store, prompt, project=project, known=known) if prompt else []
    text = render_inject(start, budget)
    reasons = [
        {**summary(note), "reason": why_injected(note, project=project, at_hand=hints), "is_cut": note.id not in text}
        for note in start
    ]
    return {
        "project": project,
        "hints": hints,
        "budget": budget,
        "start": _section(reasons, text),
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
    return {"notes": notes, "text": text, "tokens": estimate_tokens(text)}


def _explained(store: MemoryStore, prompt: str, project: str, notes: Sequence[Memory]) -> list[Data]:
    """The notes that a prompt adds, each with the explanation of a search for the prompt."""
    places = dict.fromkeys((project, GLOBAL)) if notes else ()
    hits = [hit for place in places for hit in store.hits(prompt, project=place, k=_MOST_HITS, explain=True)]
    found = {hit.memory.id: hit_summary(hit) for hit in hits}
    return [found.get(note.id) or summary(note) for note in notes]


VIEWS = (View("/told", "context.html", _read, Lane.SEARCH),)
