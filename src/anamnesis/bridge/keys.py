"""Finds the project key of the notes for the short project name of an observation."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from anamnesis.bridge import journal
from anamnesis.bridge.mapping import project_name
from anamnesis.engram.projects import normalise
from anamnesis.engram.record import Observation
from anamnesis.engram.sessions import default_session
from anamnesis.notes.project_names import comparable
from anamnesis.project import GLOBAL, find_project
from anamnesis.store import MemoryStore
from anamnesis.store.projects import one_each

# Seconds for which the projects of the notes are cached.
_TRUST_SECONDS = 5.0


class Keys:
    """The keys of projects, from the folders of sessions and from the notes."""

    def __init__(self, db: sqlite3.Connection, store: MemoryStore, user_home: Path | None) -> None:
        self._db = db
        self._store = store
        self._user_home = user_home
        self._of_folder: dict[str, str] = {}
        self._of_name: dict[str, list[str]] = {}
        self._looked = float("-inf")

    def of(self, row: Observation, folders: dict[str, str]) -> str:
        """The key of the session's folder, or the only key with this short name; else the name itself.

        The sessions' folders are cached in `folders`.
        """
        if not row.project:
            return GLOBAL
        folder = folders.get(row.session_id)
        if folder is None:
            folder = folders[row.session_id] = journal.directory(self._db, row.session_id)
        name = normalise(row.project)
        known = self._known().get(name, [])
        key = self._key_of_folder(folder) if folder else ""
        # A client without a folder saves in the default session, too, and may be in another repository.
        is_sure = row.session_id != default_session(name) or {*map(comparable, known)} <= {comparable(key)}
        if key and project_name(key) == name and is_sure:
            return key
        if "/" in row.project:
            return row.project
        return known[0] if len(known) == 1 else row.project

    def _key_of_folder(self, folder: str) -> str:
        key = self._of_folder.get(folder)
        if key is None:
            there = os.path.isabs(folder) and os.path.isdir(folder)
            key = find_project(folder, self._store.root, self._user_home).key if there else ""
            self._of_folder[folder] = key
        return key

    def _known(self) -> dict[str, list[str]]:
        now = time.monotonic()
        if now - self._looked > _TRUST_SECONDS:
            self._looked = now
            self._of_name.clear()
            for project in one_each(self._store.projects()):
                name = project_name(project)
                if name and "/" in project:
                    self._of_name.setdefault(name, []).append(project)
        return self._of_name
