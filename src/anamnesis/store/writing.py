"""Writes notes to their files, atomically and durably."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Mapping

from anamnesis.disk import (
    create_beside,
    fill,
    remove,
    replace_unchanged,
    stays_replaced,
    sync_files,
    sync_folder,
)
from anamnesis.errors import AnamnesisError, NoteConflict
from anamnesis.notes import Memory, front_of, parse, render
from anamnesis.store.files import STAGE, NoteFile, NoteFiles, digest, folder_of, telling
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
        self._staged: dict[str, str] = {}
        self._replaced: list[str] = []  # paths whose former files are staged now
        self._stage_folder = place.prepare(STAGE)
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
                sync_files([*self._staged.values()])
            try:
                for path in [*self._staged]:
                    self._replace(path, self._former.get(path))
                for folder in self._folders.values() if self._is_durable else ():
                    sync_folder(folder)
            finally:
                self._refuse_late_edits()

    def _replace(self, path: str, former: NoteFile | None) -> None:
        """Put a file in its place, unless another program has changed what is there since it was read."""
        seen = (former.size, former.mtime_ns) if former else None
        left = ""
        if former and former.path != path:
            if self._place.seen(former.path) != seen:
                raise _conflict(former.path)
            if not self._move(former.path, path):
                left, seen = former.path, None
        with self._steps.change(folder_of(path)):
            is_replaced = replace_unchanged(self._staged[path], self._place.absolute(path), seen)
        if not is_replaced:
            if former and former.path != path and not left:
                self._move(path, former.path)
            raise _conflict(path)
        if seen is None:
            del self._staged[path]
        else:
            self._replaced.append(path)
        if left:
            with self._steps.change(folder_of(left)):
                os.unlink(self._place.absolute(left))

    def _refuse_late_edits(self) -> None:
        """Put back the replaced files that programs which had them open have written to since.

        Only where the system cannot say that a file is open: elsewhere, nobody has it open any more.
        """
        late = [path for path in self._replaced if not self._stays_replaced(path, self._former[path])]
        if late:
            raise _conflict(late[0])

    def _stays_replaced(self, path: str, former: NoteFile) -> bool:
        return stays_replaced(self._staged[path], self._place.absolute(path), (former.size, former.mtime_ns))

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
        """Remove the staged files that were not put in place, and those that were replaced."""
        if self._ahead:
            self._ahead.join()
        for temporary in self._staged.values():
            remove(temporary)

    def _stage(self, path: str, memory: Memory, *, begin: bool) -> None:
        text = render(memory)
        if memory.extra:
            parse(text)  # foreign lines may refer to ours (a YAML alias): never write a file that cannot be parsed
        data = text.encode("utf-8")
        target = self._place.absolute(path)
        with telling("write", target):
            mode = None if path in self._former else 0o600
            descriptor, self._staged[path] = create_beside(target, mode, stage=self._stage_folder)
            status = fill(descriptor, self._staged[path], data, durable=False, begin=begin)
        seen = (path, status.st_size, status.st_mtime_ns, digest(data))
        self.files.append(NoteFile(*seen, memory, front=front_of(memory, text)))


def _conflict(path: str) -> NoteConflict:
    return NoteConflict(f"Somebody else has just changed {path}.", "Try again.")
