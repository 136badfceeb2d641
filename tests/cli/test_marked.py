"""The marks of dreams in `search` and `show`."""

from __future__ import annotations

import pytest
from tests.cli.command import Command
from tests.cli.test_terminal import plain
from tests.store.test_linked import NEWER, OLDER, newer, older

from anamnesis.notes.marks import CONTRADICTS, STALE, UPDATED_BY, UPDATES, with_link, with_mark


@pytest.fixture
def marked(anamnesis: Command) -> Command:
    with anamnesis.store() as store:
        store.put_all([with_link(older(), UPDATED_BY, NEWER), with_link(newer(), UPDATES, OLDER)])
    return anamnesis


def test_search_says_which_note_is_outdated_and_by_which(marked: Command) -> None:
    found = marked("search", "port", "API", "--json").json
    assert [(each["id"], each.get("outdated_by")) for each in found] == [(NEWER, None), (OLDER, NEWER)]
    lines = [line.split("\t") for line in marked("search", "port", "API").out.splitlines()]
    assert [(line[0], line[5:]) for line in lines] == [(NEWER, []), (OLDER, [f"outdated by {NEWER}"])]
    assert "outdated Which port" in plain(marked.on_terminal("search", "port", "API"))
    assert f"outdated by {NEWER}" in plain(marked.on_terminal("search", "port", "API", "--explain"))
    assert f"outdated by {NEWER}" in plain(marked.on_terminal("search", "port", "API", "--long"))


def test_show_tells_the_marks_in_words(marked: Command) -> None:
    with marked.store() as store:
        store.put(with_mark(with_link(store.get(OLDER), CONTRADICTS, NEWER), STALE, "src/api.py was removed"))
    shown = plain(marked.on_terminal("show", OLDER))
    assert f"outdated by {NEWER}" in shown
    assert f"contradicts {NEWER}" in shown
    assert "stale: src/api.py was removed" in shown
    assert f"updates {OLDER}" in plain(marked.on_terminal("show", NEWER))
    told = marked("show", OLDER, "--json").json
    assert (told["outdated_by"], told["contradicts"]) == (NEWER, [NEWER])
    assert told["stale"] == "src/api.py was removed"
    assert "outdated_by" not in marked("show", NEWER, "--json").json
