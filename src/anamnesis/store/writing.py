"""Notes on the way to their files."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping
from pathlib import Path

from anamnesis.disk import create_beside, fill, sync_files, sync_folder
from anamnesis.errors import StoreUnavailable
from anamnesis.notes import Memory, parse, render
from anamnesis.store.files import NoteFile, NoteFiles, digest, folder_of, telling
from anamnesis.store.steps import Step, Steps

# To have more written than these, a thread of its own is worth what it costs.
_FEW_NOTES = 4


class Writing:
    """Writes notes to their paths, each in place of the file that held it so far, which is `moved`.

    Each goes atomically, and they are durable together; the disk is at work on them while others are at work too.
    `files` are as they will be after `finish`; without it, nothing is left behind.
    """

    def __init__(
        self, place: NoteFiles, notes: Mapping[str, Memory], moved: Mapping[str, str], *, durable: bool = True
    ) -> None:
        self.files: list[NoteFile] = []
        self._is_durable = durable
        self._place = place
        self._moved = moved
        self._steps = Steps(place.folder_time)
        self._waiting: dict[str, Path] = {}
        self._folders = {folder: place.prepare(folder) for folder in dict.fromkeys(map(folder_of, notes))}
        self._is_finished = False
        self._ahead: threading.Thread | None = None
        try:
            for path, memory in notes.items():
                self._stage(path, memory, begin=len(notes) <= _FEW_NOTES)
        except BaseException:
            self.close()
            raise
        if len(notes) > _FEW_NOTES:
            self._ahead = threading.Thread(target=self._finish_ahead, name="disk")
            self._ahead.start()

    def finish(self) -> list[Step]:
        """Let every note be in its place, and say what that did to the folders; to call it again changes nothing."""
        if self._ahead:
            self._ahead.join()
        self._finish()
        return self._steps.undisturbed()

    def _finish_ahead(self) -> None:
        with contextlib.suppress(StoreUnavailable):  # `finish` tries it again, and fails where somebody hears of it
            self._finish()

    def _finish(self) -> None:
        if self._is_finished:
            return
        with telling("write", self._place.root):
            if self._is_durable:
                sync_files([*self._waiting.values()])
            for path in [*self._waiting]:
                if former := self._moved.get(path):
                    self._move(former, path)
                with self._steps.change(folder_of(path)):
                    os.replace(self._waiting[path], self._place.root / path)
                del self._waiting[path]
            for former in self._moved.values():
                with self._steps.change(folder_of(former)):
                    (self._place.root / former).unlink(missing_ok=True)
                self._folders[folder_of(former)] = (self._place.root / former).parent
            for folder in self._folders.values() if self._is_durable else ():
                sync_folder(folder)
        self._is_finished = True

    def _move(self, former: str, path: str) -> None:
        """Let a file go to its new place as it is, so that no kill leaves its note in two; from one disk to another,
        there is no such way."""
        self._place.refuse_links(former)
        with (
            self._steps.change(folder_of(former)),
            self._steps.change(folder_of(path)),
            contextlib.suppress(OSError),
        ):
            os.replace(self._place.root / former, self._place.root / path)

    def close(self) -> None:
        if self._ahead:
            self._ahead.join()
        for temporary in self._waiting.values():
            temporary.unlink(missing_ok=True)

    def _stage(self, path: str, memory: Memory, *, begin: bool) -> None:
        data = _encoded(memory)
        folder, _, name = path.rpartition("/")
        target = self._folders[folder] / name
        with telling("write", target):
            with self._steps.change(folder):
                descriptor, self._waiting[path] = create_beside(target)
            status = fill(descriptor, self._waiting[path], data, durable=False, begin=begin)
        self.files.append(NoteFile(path, status.st_size, status.st_mtime_ns, digest(data), memory))


def _encoded(memory: Memory) -> bytes:
    text = render(memory)
    if memory.extra:
        parse(text)  # foreign lines may lean on a line of ours (a YAML alias): never write what cannot be read
    return text.encode("utf-8")
