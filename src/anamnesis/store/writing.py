"""Writes notes to their files, atomically and durably."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Mapping

from anamnesis.disk import create_beside, fill, remove, sync_files, sync_folder
from anamnesis.errors import AnamnesisError, NoteConflict
from anamnesis.notes import Memory, front_of, parse, render
from anamnesis.store.files import NoteFile, NoteFiles, digest, folder_of, telling
from anamnesis.store.steps import Step, Steps

# For more notes than this, a separate thread for the disk is worth its cost.
_FEW_NOTES = 4


class Writing:
    """Writes notes to their paths, each in place of its `former` file, unless that has changed since it was read.

    Each note is replaced atomically, and all are flushed together, overlapped with indexing. `files` are as they will
    be after `finish`.
    """

    def __init__(
        self, place: NoteFiles, notes: Mapping[str, Memory], former: Mapping[str, NoteFile], *, durable: bool = True
    ) -> None:
        self.files: list[NoteFile] = []
        self._is_durable = durable
        self._place = place
        self._former = former
        self._steps = Steps(place.folder_time)
        self._waiting: dict[str, str] = {}
        self._folders = {folder: place.prepare(folder) for folder in dict.fromkeys(map(folder_of, notes))}
        self._is_tried = False
        self._failure: AnamnesisError | None = None
        self._ahead: threading.Thread | None = None
        try:
            for path, memory in notes.items():
                self._stage(path, memory, begin=durable and len(notes) <= _FEW_NOTES)
        except BaseException:
            self.close()
            raise
        if durable and len(notes) > _FEW_NOTES:
            self._ahead = threading.Thread(target=self._try, name="disk")
            self._ahead.start()

    def finish(self) -> list[Step]:
        """Complete the writes, and return our changes of the folders. Idempotent."""
        if self._ahead:
            self._ahead.join()
        self._try()
        if self._failure:
            raise self._failure
        return self._steps.undisturbed()

    def _try(self) -> None:
        if not self._is_tried:
            self._is_tried = True
            try:
                self._finish()
            except AnamnesisError as error:  # for `finish` to raise in the caller's thread
                self._failure = error

    def _finish(self) -> None:
        with telling("write", self._place.root):
            if self._is_durable:
                sync_files([*self._waiting.values()])
            for path in [*self._waiting]:
                self._replace(path, self._former.get(path))
            for folder in self._folders.values() if self._is_durable else ():
                sync_folder(folder)

    def _replace(self, path: str, former: NoteFile | None) -> None:
        self._refuse_if_changed(path, former)
        left = former.path if former and former.path != path and not self._move(former.path, path) else ""
        with self._steps.change(folder_of(path)):
            os.replace(self._waiting[path], self._place.absolute(path))
        del self._waiting[path]
        if left:
            with self._steps.change(folder_of(left)):
                os.unlink(self._place.absolute(left))

    def _refuse_if_changed(self, path: str, former: NoteFile | None) -> None:
        """Raise if a file has changed since it was read, for example because an editor has just saved it."""
        seen = self._place.seen(former.path if former else path)
        if seen != ((former.size, former.mtime_ns) if former else None):
            raise NoteConflict(f"Somebody else has just changed {former.path if former else path}.", "Try again.")

    def _move(self, former: str, path: str) -> bool:
        """Rename a file to its new path before its content is replaced, so that no kill leaves its note in two files;
        False if that is on another file system."""
        self._place.refuse_links(former)
        self._folders[folder_of(former)] = self._place.absolute(folder_of(former))
        with self._steps.change(folder_of(former)), self._steps.change(folder_of(path)):
            try:
                os.replace(self._place.absolute(former), self._place.absolute(path))
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                return False
        return True

    def close(self) -> None:
        if self._ahead:
            self._ahead.join()
        for temporary in self._waiting.values():
            remove(temporary)

    def _stage(self, path: str, memory: Memory, *, begin: bool) -> None:
        text = render(memory)
        if memory.extra:
            parse(text)  # foreign lines may refer to ours (a YAML alias): never write what cannot be parsed
        data = text.encode("utf-8")
        target = self._place.absolute(path)
        with telling("write", target):
            with self._steps.change(folder_of(path)):
                descriptor, self._waiting[path] = create_beside(target, None if path in self._former else 0o600)
            status = fill(descriptor, self._waiting[path], data, durable=False, begin=begin)
        seen = (path, status.st_size, status.st_mtime_ns, digest(data))
        self.files.append(NoteFile(*seen, memory, front=front_of(memory, text)))
