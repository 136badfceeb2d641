"""A clock that was set back: every edit still counts as newer than what it replaced."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.mcp.test_stdio import Server
from tests.web.daemon import running
from tests.web.ui.visiting import Visitor

ID = "01J0000000000000000000TIDE"
CREATED, UPDATED = "2098-03-01T10:00:00+00:00", "2099-03-01T10:00:00+00:00"


@pytest.fixture
def tide(anamnesis: Command) -> Path:
    """The file of a note from before the clock was set back, which an import brought."""
    anamnesis("write", "Moon", "It is full.")
    file = anamnesis.home / "memory" / "semantic" / f"{ID}.md"
    file.write_text(
        f"---\nid: {ID}\ntype: semantic\ntitle: Tide\nproject: global\nscope: portable\nmachine_id: desk\n"
        f"created_at: '{CREATED}'\nupdated_at: '{UPDATED}'\ntags: [imported]\n---\nIt turns at six.\n"
    )
    return file


def by_a_tag(anamnesis: Command) -> None:
    anamnesis("tag", ID, "sea")


def by_an_editor(anamnesis: Command) -> None:
    editor = anamnesis.folder / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/six/seven/" "$1"\n')
    editor.chmod(0o755)
    anamnesis("edit", ID, EDITOR=str(editor))


def by_an_editor_that_writes_an_older_time(anamnesis: Command) -> None:
    editor = anamnesis.folder / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/2099/2012/; s/six/seven/" "$1"\n')
    editor.chmod(0o755)
    anamnesis("edit", ID, EDITOR=str(editor))


def by_a_review(anamnesis: Command) -> None:
    anamnesis("tag", ID, "to-review")
    anamnesis("review", "--accept", "--all", "--yes")


def by_an_older_revision(anamnesis: Command) -> None:
    by_an_editor(anamnesis)
    anamnesis("history", ID, "--restore", "1")


def by_an_agent(anamnesis: Command) -> None:
    server = Server(anamnesis.home, "serve")
    changes = {"id": ID, "body": "It turns at seven."}
    server.ask("tools/call", {"name": "memory_update", "arguments": changes})
    server.end()


def by_the_dashboard(anamnesis: Command) -> None:
    with running(anamnesis.home) as daemon:
        Visitor(daemon).send("/ui/notes/change", id=ID, what="tag", value="sea")


def by_engram(anamnesis: Command) -> None:
    with running(anamnesis.home) as daemon:
        daemon.ask("POST", "/sessions", json.dumps({"id": "s", "project": "global"}))
        found = json.loads(daemon.ask("GET", "/search?q=tide").body)
        changed = daemon.ask("PATCH", f"/observations/{found[0]['id']}", json.dumps({"content": "It turns at seven."}))
        assert changed.status == 200


WAYS = (
    by_a_tag,
    by_an_editor,
    by_an_editor_that_writes_an_older_time,
    by_a_review,
    by_an_older_revision,
    by_an_agent,
    by_the_dashboard,
    by_engram,
)


@pytest.mark.parametrize("change", WAYS)
def test_an_edit_is_never_older_than_what_it_replaces(
    anamnesis: Command, tide: Path, change: Callable[[Command], None]
) -> None:
    before = tide.read_text()
    change(anamnesis)
    after = tide.read_text()
    assert after != before
    times = dict(re.findall(r"^(created_at|updated_at): '?([^'\n]+)'?$", after, re.MULTILINE))
    assert times == {"created_at": CREATED, "updated_at": UPDATED}


def test_a_text_that_is_no_time_does_not_stay(anamnesis: Command, tide: Path) -> None:
    tide.write_text(re.sub("2099.*'", "some day'", tide.read_text()).replace("2098", "2018"))
    assert anamnesis("tag", ID, "sea").code == 0
    assert "some day" not in tide.read_text()
    assert anamnesis("doctor", "--fix").code == 0


def test_doctor_names_times_in_the_future_until_the_file_is_corrected(anamnesis: Command, tide: Path) -> None:
    (fault,) = anamnesis("doctor", "--json").json["faults"]
    assert (fault["subject"], fault["fault"]) == (f"memory/semantic/{ID}.md", "1 note has a time in the future.")
    assert fault["fix"].endswith(f"else correct the times in memory/semantic/{ID}.md.")
    tide.write_text(tide.read_text().replace("2098", "2018").replace("2099", "2019"))
    assert anamnesis("doctor", "--fix").code == 0
