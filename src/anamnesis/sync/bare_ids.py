"""The ids of notes without front matter: they travel in the messages of the commits that change their files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing, suppress

from anamnesis.errors import InvalidNote, StoreUnavailable
from anamnesis.notes import decode, number_of
from anamnesis.notes.bare import is_bare
from anamnesis.store.files import TREES, describes_repository, digest
from anamnesis.store.kept import KeptVersions
from anamnesis.sync.repository import Repository

_LEAD = "Note-Id: "
_TREE = f"{TREES['portable']}/"


def lines_for(repository: Repository, paths: Iterable[str]) -> str:
    """The lines for the message of a commit that changes these files; "" if no id is recorded for them."""
    with closing(KeptVersions(repository.folder.parent, 0)) as kept:
        found = kept.ids_at(f"{_TREE}{path}" for path in paths if path.isprintable())
    return "".join(f"{_LEAD}{note_id} {path.removeprefix(_TREE)}\n" for path, note_id in sorted(found.items()))


def receive_ids(repository: Repository, commit: str, contents: Mapping[str, bytes]) -> None:
    """Record the ids of the files without front matter that a commit brings; of two ids for one file, the smaller."""
    bare = {f"{_TREE}{path}": digest(data) for path, data in contents.items() if _is_bare(path, data)}
    if not bare:
        return
    sent = _sent(repository, commit)
    with closing(KeptVersions(repository.folder.parent, 0)) as kept:
        known = kept.ids_at(bare)
        for path, hash in bare.items():
            theirs = sent.get(path.removeprefix(_TREE), "")
            if theirs and (path not in known or theirs < known[path]):
                with suppress(StoreUnavailable):  # each machine then has an id of its own
                    kept.record(path, hash, theirs)


def _is_bare(path: str, data: bytes) -> bool:
    if not path.endswith(".md") or describes_repository(path):
        return False
    try:
        return is_bare(decode(data), f"{_TREE}{path}")
    except InvalidNote:
        return False


def _sent(repository: Repository, commit: str) -> dict[str, str]:
    """The ids in the messages of a commit's history by path, the last of each."""
    messages = repository.git("log", "--format=%B", f"--grep=^{_LEAD}", commit).decode("utf-8", "replace")
    found: dict[str, str] = {}
    for line in messages.splitlines():
        note_id, _, path = line.removeprefix(_LEAD).partition(" ")
        if line.startswith(_LEAD) and number_of(note_id) is not None:
            found.setdefault(path, note_id)
    return found
