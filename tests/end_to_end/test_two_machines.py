"""One person, two machines, one remote: a session on the second machine receives the notes of the first."""

from __future__ import annotations

import json

from tests.end_to_end.machine import ANSWER, QUESTION, Machine


def test_a_note_is_synced_and_edited_on_both_sides_without_loss(machines: tuple[Machine, Machine]) -> None:
    desk, lap = machines
    for machine in machines:
        machine.anamnesis("init", "--agent", "claude-code", "--remote", str(machine.remote))

    # A session on the first machine, as Claude Code runs it.
    assert QUESTION not in desk.hooks("SessionStart", source="startup")
    desk.hooks("SessionEnd", reason="other", transcript_path=str(desk.transcript()))
    desk.wait_for_sync()

    # The next session, on the other machine, in another checkout of the same project.
    lap.anamnesis("sync")
    injected = lap.hooks("SessionStart", source="startup")
    assert QUESTION in injected
    assert ANSWER in injected
    assert "origin: desk" in injected

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

    # One command resolves the conflict on both machines.
    desk.anamnesis("conflicts", note["id"], "--keep", "both")
    desk.anamnesis("sync")
    lap.anamnesis("sync")
    assert [machine.anamnesis("conflicts") for machine in machines] == ["", ""]
    shown = [machine.anamnesis("list", "--json") for machine in machines]
    assert shown[0] == shown[1]
    assert len(json.loads(shown[0])) == 2

    # An uninstall restores the agents' files, and says that it keeps the notes and the remote.
    lap.anamnesis("uninstall", messages=2)
    assert not (lap.home / ".claude" / "settings.json").exists()
    assert not (lap.home / ".claude.json").exists()
    assert lap.anamnesis("list", "--json") == shown[0]
