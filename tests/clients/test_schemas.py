"""Settings written by `init` fit the published schemas of agents whose own program cannot check them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.clients import play
from tests.clients.host import Failed
from tests.clients.schemas import PUBLISHED, check
from tests.onboard.machines import Machine

from anamnesis.onboard.agents import AGENTS


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_settings_of_an_agent_fit_its_published_schema(tmp_path: Path, name: str) -> None:
    machine = Machine(tmp_path)
    machine.init(name)
    assert check(tmp_path, name).startswith("anamnesis")


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_settings_file_of_such_an_agent_is_checked(tmp_path: Path, name: str) -> None:
    files = {str(edit.file.relative_to(tmp_path)) for edit in Machine(tmp_path).settings(name)}
    assert files == {each.file for each in PUBLISHED[name]}


def test_a_field_that_an_agent_rejects_is_found(tmp_path: Path) -> None:
    Machine(tmp_path).init("crush")
    file = tmp_path / ".config/crush/crush.json"
    settings = json.loads(file.read_text())
    settings["mcp"]["anamnesis"]["marker"] = "ours"
    file.write_text(json.dumps(settings))
    with pytest.raises(Failed, match="marker"):
        check(tmp_path, "crush")


def test_every_agent_is_played_read_back_or_checked() -> None:
    assert set(play.hosts()) <= AGENTS.keys()
    for name in play.hosts():
        host = play.host(name)
        assert host.start or host.read_back, name
