"""The objects that syncs leave behind are packed before they are many."""

from __future__ import annotations

from tests.sync.machine import Machine, assert_same, settle


def counted(machine: Machine) -> dict[str, int]:
    """git's own count of its objects."""
    lines = machine.git("count-objects", "-v").splitlines()
    return {name: int(value) for name, value in (line.split(": ") for line in lines)}


def write_objects(machine: Machine, number: int) -> None:
    """As many objects as that many syncs would leave: a commit of that many notes."""
    for note in range(number):
        machine.put(f"semantic/n{note}.md", f"---\nid: n{note}\ntype: semantic\ntitle: T\n---\nbody {note}\n")
    machine.git("add", ".")
    machine.git("commit", "--quiet", "-m", "many")


def test_few_objects_are_left_alone(a: Machine) -> None:
    a.note("one")
    a.sync()
    assert counted(a)["packs"] == 0


def test_many_objects_are_packed_once(a: Machine, b: Machine) -> None:
    a.note("one")
    a.sync()
    write_objects(a, 3000)
    assert counted(a)["count"] > 3000
    a.sync()
    assert (counted(a)["count"], counted(a)["packs"]) == (0, 1)
    a.note("two")
    a.sync()
    assert (counted(a)["count"], counted(a)["packs"]) == (4, 1)
    a.git("fsck", "--strict")
    settle(a, b)
    assert_same(a, b)


def test_few_but_large_objects_are_packed(a: Machine) -> None:
    """Each sync of a large memory writes the tree of a whole folder: 4 MB for 100,000 notes."""
    a.sync()
    a.put("large", "0" * 70_000_000)
    a.git("-c", "core.looseCompression=0", "hash-object", "-w", "large")
    (a.folder / "large").unlink()
    a.note("one")
    a.sync()
    assert (counted(a)["size"], counted(a)["packs"]) == (0, 1)


def test_a_sync_does_not_fail_where_nothing_can_be_packed(a: Machine) -> None:
    a.sync()
    write_objects(a, 3000)
    (a.folder / ".git" / "objects" / "pack").rmdir()
    (a.folder / ".git" / "objects" / "pack").write_text("in the way")
    a.note("one")
    assert a.sync().detail == "synced"
