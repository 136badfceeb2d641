"""One person, two machines, one remote: what a session on the first taught is told to a session on the second."""

from __future__ import annotations

import json

from tests.end_to_end.machine import ANSWER, QUESTION, Machine


def test_a_memory_travels_is_edited_on_both_sides_and_nothing_is_lost(machines: tuple[Machine, Machine]) -> None:
    desk, lap = machines
    for machine in machines:
        machine.anamnesis("init", "--agent", "claude-code", "--remote", str(machine.remote))

    # A session on the one machine, as Claude Code runs it.
    assert QUESTION not in desk.hooks("SessionStart", source="startup")
    desk.hooks("SessionEnd", reason="other", transcript_path=str(desk.transcript()))
    desk.wait_for_sync()

    # The next session, on the other machine, in another checkout of the same project.
    lap.anamnesis("sync")
    told = lap.hooks("SessionStart", source="startup")
    assert QUESTION in told
    assert ANSWER in told
    assert "origin: desk" in told

    # Both edit the same line of the same note.
    (note,) = json.loads(lap.anamnesis("list", "--json"))
    desk.edit(note["id"], ANSWER, "The key is in the vault.")
    lap.edit(note["id"], ANSWER, "The key is in the environment.")
    desk.anamnesis("sync")
    assert json.loads(lap.anamnesis("sync", "--json"))["conflicted"] is True
    desk.anamnesis("sync")

    # Nothing is lost: both machines see both versions.
    for machine in machines:
        (conflict,) = json.loads(machine.anamnesis("conflicts", "--json"))
        assert conflict["id"] == note["id"]
        assert "The key is in the vault." in conflict["diff"]
        assert "The key is in the environment." in conflict["diff"]

    # One command ends it, everywhere.
    desk.anamnesis("conflicts", note["id"], "--keep", "both")
    desk.anamnesis("sync")
    lap.anamnesis("sync")
    assert [machine.anamnesis("conflicts") for machine in machines] == ["", ""]
    shown = [machine.anamnesis("list", "--json") for machine in machines]
    assert shown[0] == shown[1]
    assert len(json.loads(shown[0])) == 2

    # And all of it can be taken back: the agents' files as they were, the notes where they are.
    lap.anamnesis("uninstall")
    assert not (lap.home / ".claude" / "settings.json").exists()
    assert not (lap.home / ".claude.json").exists()
    assert lap.anamnesis("list", "--json") == shown[0]
