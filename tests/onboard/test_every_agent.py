"""Properties of every agent's setup, in a new home and in one with settings of others.

Our entries are in place, theirs are unchanged, a second setup changes nothing, and a removal leaves no trace.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.onboard.machines import NAMES, Machine

from anamnesis.onboard.edits import SettingsEdit, TextBlock
from anamnesis.onboard.formats import engine
from anamnesis.onboard.ledger import Ledger
from anamnesis.onboard.pieces import Item, Server

every_agent = pytest.mark.parametrize("name", NAMES)
BROKEN = {"json": '{"a": 1', "jsonc": '{"a": 1,, // b', "toml": "a = [1\n[b", "yaml": "a: [1\nb: }"}


def has_ours(machine: Machine, name: str) -> bool:
    """Whether every entry for an agent is in its file and starts the program."""
    for edit in machine.settings(name):
        text = edit.file.read_bytes().decode()
        document = engine(edit.format).read(text)
        for piece in edit.pieces:
            if isinstance(piece, Server | Item):
                found: Any = document
                for step in piece.path:
                    found = found[step]
                assert "anamnesis" in str(found)
                assert "kim o" in str(found)
    return True


def words(content: bytes) -> list[str]:
    """The words of a file, comments included; without an empty table, which may be removed with our entry."""
    text = re.sub(r'"mcpServers": \{\},?', "", content.decode())
    return re.findall(r"\w+|\S", text)


def is_within(old: bytes, new: bytes) -> bool:
    """Whether no word was removed or moved."""
    rest = iter(words(new))
    return all(word in rest for word in words(old))


def contains(new: Any, old: Any) -> bool:
    """Whether everything old is still there: keys with their values, items in their order."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(key in new and contains(new[key], old[key]) for key in old)
    if isinstance(old, list):
        rest: Iterator[Any] = iter(new if isinstance(new, list) else ())
        return all(any(contains(each, item) for each in rest) for item in old)
    return bool(new == old)


@every_agent
def test_a_setup_in_a_new_home_is_complete_and_fully_removed(machine: Machine, name: str) -> None:
    done = machine.init(name)
    assert not done.refusals
    assert done.changes
    assert has_ours(machine, name)
    assert not machine.plan(name).changes
    assert not machine.uninstall().refusals
    assert machine.files() == {}
    assert machine.folders() == set()


@every_agent
def test_every_file_of_an_agent_has_a_sample(machine: Machine, name: str) -> None:
    machine.add_samples(name)
    shared = [edit.file for edit in machine.settings(name) if not edit.own]
    assert all(file.is_file() for file in shared)


@every_agent
def test_entries_of_others_stay_unchanged(machine: Machine, name: str) -> None:
    machine.add_samples(name)
    before = machine.files()
    assert not machine.init(name).refusals
    assert has_ours(machine, name)
    after = machine.files()
    formats = {str(edit.file.relative_to(machine.home)): edit.format for edit in machine.settings(name)}
    for path, old in before.items():
        assert is_within(old, after[path]), path
        if path in formats:
            kind = engine(formats[path])
            assert contains(kind.read(after[path].decode()), kind.read(old.decode())), path
    again = machine.init(name)
    assert not again.changes
    assert machine.files() == after
    machine.uninstall()
    assert machine.files() == before


@every_agent
def test_later_changes_of_others_survive_a_removal(machine: Machine, name: str) -> None:
    """The file is no longer as we wrote it, so only our entries are removed."""
    machine.add_samples(name)
    before = machine.files()
    machine.init(name)
    edited = {edit.file: edit for edit in machine.settings(name) if not edit.own}
    for file, edit in edited.items():
        text = engine(edit.format).put(file.read_bytes().decode(), ("added_later",), {"by": "somebody else"})
        file.write_bytes(text.encode())
    machine.uninstall()
    after = machine.files()
    assert after.keys() == before.keys()
    for file, edit in edited.items():
        path = str(file.relative_to(machine.home))
        kind = engine(edit.format)
        old = kind.read(before[path].decode())
        assert kind.read(after[path].decode()) == _pruned({**old, "added_later": {"by": "somebody else"}}), path
        assert is_within(before[path], after[path]), path


def _pruned(document: dict[str, Any]) -> dict[str, Any]:
    """A document without the tables that are empty without our entries."""
    return {key: value for key, value in document.items() if value != {} or key not in ("mcpServers", "mcp")}


@every_agent
def test_our_entries_are_found_and_removed_without_the_ledger(machine: Machine, name: str) -> None:
    machine.add_samples(name)
    before = machine.files()
    machine.init(name)
    (machine.store / "backups/ledger.json").unlink()
    machine.uninstall()
    after = machine.files()
    assert after.keys() == before.keys()
    for path, old in before.items():
        assert is_within(old, after[path]), path
        assert b"anamnesis" not in after[path]


@every_agent
def test_a_broken_file_is_refused_with_the_lines_to_add_by_hand(machine: Machine, name: str) -> None:
    broken = {}
    for edit in machine.settings(name):
        edit.file.parent.mkdir(parents=True, exist_ok=True)
        edit.file.write_text(BROKEN[edit.format])
        broken[edit.file] = edit
    done = machine.init(name)
    assert {refusal.file for refusal in done.refusals} == set(broken)
    for refusal in done.refusals:
        edit = broken[refusal.file]
        assert refusal.file.read_text() == BROKEN[edit.format]
        assert refusal.agents == (name,)
        assert refusal.reason
        assert engine(edit.format).read(refusal.by_hand) == engine(edit.format).read(edit.install(""))


@every_agent
def test_a_read_only_file_is_refused(machine: Machine, name: str) -> None:
    machine.add_samples(name)
    files = {edit.file for edit in machine.edits(name) if edit.file.exists()}
    for file in files:
        file.chmod(0o444)
    before = machine.files()
    done = machine.init(name)
    assert {refusal.file for refusal in done.refusals} == files
    assert all("read-only" in refusal.reason for refusal in done.refusals)
    assert {path: machine.files()[path] for path in before} == before


@every_agent
def test_a_link_stays_a_link_and_the_file_behind_it_is_changed(machine: Machine, name: str, tmp_path: Path) -> None:
    """Many people keep their settings in a repository."""
    machine.add_samples(name)
    links = {}
    for number, edit in enumerate(edit for edit in machine.edits(name) if edit.file.exists()):
        real = tmp_path / "dotfiles" / str(number) / edit.file.name
        real.parent.mkdir(parents=True)
        edit.file.rename(real)
        edit.file.symlink_to(os.path.relpath(real, edit.file.parent))
        links[edit.file] = (real, real.read_bytes())
    assert not machine.init(name).refusals
    assert has_ours(machine, name)
    for link, (real, old) in links.items():
        assert link.is_symlink()
        assert link.resolve() == real
        assert real.read_bytes() != old
        assert list(real.parent.iterdir()) == [real]
    assert not machine.plan(name).changes
    machine.uninstall()
    for link, (real, old) in links.items():
        assert link.is_symlink()
        assert real.read_bytes() == old


@every_agent
def test_windows_line_ends_and_a_byte_order_mark_stay(machine: Machine, name: str) -> None:
    machine.add_samples(name)
    shared = [edit.file for edit in machine.edits(name) if edit.file.exists()]
    for file in shared:
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    before = machine.files()
    assert not machine.init(name).refusals
    assert has_ours(machine, name)
    for file in shared:
        content = file.read_bytes()
        assert content.startswith(b"\xef\xbb\xbf")
        assert content.count(b"\n") == content.count(b"\r\n")
    assert not machine.plan(name).changes
    machine.uninstall()
    assert machine.files() == before


@every_agent
def test_an_empty_file_is_filled_and_emptied_again(machine: Machine, name: str) -> None:
    for edit in machine.settings(name):
        edit.file.parent.mkdir(parents=True, exist_ok=True)
        edit.file.write_bytes(b"")
    before = machine.files()
    assert not machine.init(name).refusals
    assert has_ours(machine, name)
    machine.uninstall()
    assert machine.files() == before


@every_agent
def test_mode_and_owner_stay(machine: Machine, name: str) -> None:
    machine.add_samples(name)
    files = [edit.file for edit in machine.edits(name) if edit.file.exists()]
    for file in files:
        file.chmod(0o640)
        if os.geteuid() == 0:
            os.chown(file, 1234, 4321)
    machine.init(name)
    for file in files:
        assert file.stat().st_mode & 0o777 == 0o640
        assert os.geteuid() or (file.stat().st_uid, file.stat().st_gid) == (1234, 4321)


@every_agent
def test_backups_are_readable_by_the_user_only(machine: Machine, name: str) -> None:
    machine.add_samples(name)
    before = machine.files()
    done = machine.init(name)
    ledger = Ledger(machine.store)
    assert ledger.folder.stat().st_mode & 0o777 == 0o700
    for change in done.changes:
        (record,) = ledger.records(change.target)
        if change.old is None:
            assert record.backup is None
        else:
            copy = ledger.folder / str(record.backup)
            assert copy.read_bytes() == before[str(change.file.relative_to(machine.home))]
            assert copy.stat().st_mode & 0o777 == 0o600


@every_agent
def test_agents_whose_hooks_cannot_add_context_have_instructions(machine: Machine, name: str) -> None:
    agent = machine.agent(name)
    assert "serve" in agent.verbs
    if name != "claude-desktop":
        assert agent.instructions or {"inject", "recall"} & agent.verbs
    for edit in agent.all_edits:
        assert edit.file.is_relative_to(machine.home)
        assert isinstance(edit, SettingsEdit | TextBlock) or edit.file.name.startswith("anamnesis.")
