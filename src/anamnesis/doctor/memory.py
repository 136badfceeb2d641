"""Checks files, index and configuration."""

from __future__ import annotations

import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from anamnesis.bridge import FAILURES
from anamnesis.config import CONFIG_NAME, SETTINGS, Settings, config_faults, read_config, setting_text
from anamnesis.doctor.finding import Finding
from anamnesis.doctor.hub import examine_hub
from anamnesis.errors import AnamnesisError, explained
from anamnesis.exchange.account import NAME as HUB_LOGIN
from anamnesis.plural import counted
from anamnesis.readonly import is_writable
from anamnesis.store import MemoryStore, changeset, faults, second_files
from anamnesis.vault import find_engram, open_vault

# A temporary file this old belongs to no running write.
_STALE_SECONDS = 3600
_UNTIL_THEN = "Until then no daemon starts and nothing is synced."


def examine(settings: Settings, *, quickly: bool = False) -> list[Finding]:
    """The faults of this machine's store. Writes nothing but the index.

    For 50,000 notes, all checks take 2.5 s of CPU. With `quickly` they take 10 ms: they do not read the whole index,
    list folders or compare observations.
    """
    home = settings.home
    found = [*_programs()]
    try:
        found += [*_permissions(home), *_configuration(settings), *_disk(home)]
        with MemoryStore(home, only_to_read=True, versions=settings.versions) as store:
            found += [] if quickly else [*_index(store), *_vectors(store)]
            found += _files(store)
            found += [] if quickly else [*_folders(store), *_times(store)]
            found += [*_dreams(store), *examine_hub(store)]
            found += [] if quickly else _bridge(store, settings)
    except (AnamnesisError, OSError) as given:
        error = explained(given) if isinstance(given, OSError) else given
        found.append(Finding(str(home), error.message, error.hint or "Make it readable."))
    return found


def _permissions(home: Path) -> Iterator[Finding]:
    for path, allowed in ((home, 0o700), (home / CONFIG_NAME, 0o600), (home / HUB_LOGIN, 0o600)):
        if sys.platform != "win32" and path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            fault = "Other users of this machine can read it."
            yield Finding(str(path), fault, f"chmod {allowed:o} {path}", partial(path.chmod, allowed))


def _configuration(settings: Settings) -> Iterator[Finding]:
    for each in settings.found:
        if each.source == each.setting.variable and each.fault:
            yield Finding(each.source, each.fault, "Correct or unset the variable.")
    path = str(settings.home / CONFIG_NAME)
    try:
        content = read_config(settings.home)
    except AnamnesisError as error:
        yield Finding(path, error.message, f"{error.hint} {_UNTIL_THEN}")
        return
    for fault in config_faults(settings.home, content):
        yield Finding(path, fault.message, f"{fault.hint} {_UNTIL_THEN}")
    for setting in SETTINGS:
        try:
            if value := setting_text(content.get(setting.name)):
                setting.check(value)
        except AnamnesisError as error:
            yield Finding(path, error.message, f"anamnesis config set {setting.name} VALUE")


def _programs() -> Iterator[Finding]:
    if not shutil.which("git"):
        yield Finding("git", "It is not installed.", "Install it: projects are recognised and notes synced by it.")


def _disk(home: Path) -> Iterator[Finding]:
    if home.exists() and not is_writable(home):
        fault = "It cannot be written: the disk is read-only or full, or you may not write to the folder."
        yield Finding(str(home), fault, "Notes can be read. To write notes, free space or make it writable.")


def _index(store: MemoryStore) -> Iterator[Finding]:
    subject = str(store.db_path)
    if damage := faults.damage(store):
        fault = f"It is damaged: {damage[0]}."
        yield Finding(subject, fault, "Rebuild it: anamnesis reindex", _with(store, MemoryStore.reindex))
        return
    drift = faults.drift(store)
    if drift.added or drift.updated or drift.removed:
        changed = f"{drift.added} new, {drift.updated} edited and {drift.removed} removed"
        fault = f"It has missed files: {changed}."
        yield Finding(subject, fault, "Bring it up to date.", _with(store, MemoryStore.refresh))


def _vectors(store: MemoryStore) -> Iterator[Finding]:
    if damage := store.ranking.damage():
        fault = f"It is damaged: {damage[0]}."
        discard = _with(store, lambda again: again.ranking.discard())
        yield Finding(str(store.root / "vectors.db"), fault, "Delete it; the notes are embedded again.", discard)


def _files(store: MemoryStore) -> Iterator[Finding]:
    for problem in store.problems():
        place = f"{problem.path}:{problem.line}" if problem.line else problem.path
        if problem.owner:
            trash, keep = "Move this file to the trash: both say the same.", "Keep both texts: make a note of each."
            fix = trash if second_files.is_needless(store, problem) else keep
            yield Finding(place, problem.reason, fix, _with(store, partial(second_files.settle, problem=problem)))
        else:
            yield Finding(place, problem.reason, "Fix the file, or move it out of the folder.")


def _folders(store: MemoryStore) -> Iterator[Finding]:
    """Files and folders that do not belong there or cannot be read."""
    for path in faults.leftovers(store.root):
        file = store.root / path
        if time.time() - file.stat().st_mtime > _STALE_SECONDS:
            fault = "A killed write left this temporary file."
            yield Finding(path, fault, "Move it to the trash.", _with(store, partial(faults.clear, path=path)))
    blocking = faults.blocking(store.root)
    for path in blocking:
        fault = "It is in the place of a note type's folder, so no note of that type can be written."
        clear = _with(store, partial(faults.clear, path=path))
        yield Finding(path, fault, "Move it to the trash.", clear)
    for path in faults.links(store.root):
        if path in blocking:
            continue
        fault = "It is a symbolic link, and links are not followed."
        yield Finding(path, fault, "Put the file or the folder itself there.")
    for path in faults.unlistable(store.root):
        yield Finding(path, "The folder cannot be listed, so its notes are not seen.", "Ask its owner for permission.")


def _times(store: MemoryStore) -> Iterator[Finding]:
    """Times in the future. `edit` keeps them, as it never dates a note before its former version."""
    ids = faults.in_the_future(store)
    file = store.file(ids[0]) if ids else None
    if file:
        fault = f"{counted(len(ids), 'note has', 'notes have')} a time in the future."
        fix = f"Set the clock of this machine if it is wrong; else correct the times in {file.path}"
        more = "." if len(ids) == 1 else f", and those of {counted(len(ids) - 1, 'other note')}."
        yield Finding(file.path, fault, fix + more)


def _dreams(store: MemoryStore) -> Iterator[Finding]:
    """Interrupted changes of several notes, and unreadable records of such changes."""
    if changeset.is_pending(store):
        fault = "A dream or its undo was interrupted."
        yield Finding(f"{changeset.FOLDER}/", fault, "Undo what it did.", _with(store, changeset.recover))
    for path in changeset.unreadable(store):
        place = path.relative_to(store.root).as_posix()
        yield Finding(
            place, "It cannot be read, so this dream cannot be undone.", "Restore it from a backup, or move it away."
        )


def _bridge(store: MemoryStore, settings: Settings) -> Iterator[Finding]:
    """Pending changes and differences between notes and observations."""
    path = find_engram(settings)
    if path is None:
        return
    from anamnesis.bridge.upkeep import read_copies, read_drift, read_state

    def reconcile() -> None:
        with open_vault(settings, pending=True) as vault:
            if vault.bridge:
                vault.bridge.mark_all_pending()
                vault.bridge.reconcile()

    try:
        state, drift, copies = read_state(path, store), read_drift(path, store), read_copies(path)
    except FAILURES as error:
        fault, fix = (error.message, error.hint) if isinstance(error, AnamnesisError) else (f"{error}.", "")
        yield Finding(str(path), fault, fix or "Fix it, or restore a copy; the notes are files of their own.")
        return
    waiting = state.waiting
    if waiting.total:
        observations = counted(waiting.observations, "changed observation")
        fault = f"Waiting: {counted(waiting.notes, 'changed note')} and {observations}."
        yield Finding(str(path), fault, "Reconcile them: anamnesis bridge reconcile", reconcile)
    if drift:
        differ = counted(drift, "note differs from its observation", "notes differ from their observations")
        fault = f"{differ}, and no change is recorded."
        yield Finding(str(path), fault, "Compare everything: anamnesis bridge reconcile --all", reconcile)

    if copies:
        have = counted(copies, "observation has", "observations have")
        fault = f"{have} the sync id of another one, so an import elsewhere skips them."
        yield Finding(str(path), fault, "Give each its own: anamnesis bridge reconcile --all", reconcile)


def _with(found: MemoryStore, work: Callable[[MemoryStore], object]) -> Callable[[], object]:
    """A fix that opens the store again, as `found` is closed by then."""

    def repair() -> object:
        with MemoryStore(found.root, versions=found.kept.most) as store:
            return work(store)

    return repair
