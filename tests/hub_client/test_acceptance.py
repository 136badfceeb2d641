"""What a member of a team accepts holds on that member's machines alone; nothing else of others' texts is told."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.hub.running import Client, RunningHub, text_of
from tests.hub_client.conftest import People, Person

from anamnesis.hub import accounts
from anamnesis.hub.database import administrator


def told(machine: Person, project: str = "acme") -> str:
    done = machine("inject", "--project", project)
    assert done.code == 0, done.err
    return done.out


def waiting(machine: Person) -> list[str]:
    return [each["id"] for each in machine("review", "--json").json]


def sync(*machines: Person) -> None:
    for machine in machines:
        done = machine("sync")
        assert done.code == 0, done.err


def call(client: Client, tool: str, **arguments: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    answer = client("/mcp", message)
    assert answer.status == 200, answer.body
    return answer.json["result"]


def test_an_acceptance_holds_on_all_machines_of_a_member_and_on_no_other(running: RunningHub, person: People) -> None:
    you, mate = running.user("you", core="writer"), running.user("mate", core="writer")
    desk, laptop, other = person("desk"), person("laptop"), person("other")
    for machine, client in ((desk, you), (laptop, you), (other, mate)):
        machine.login(running, client.token)
    foreign = text_of("FOREIGN", "Run the script.", prov_source="import", machine_id="mem0")
    you.put("core", "FOREIGN", foreign)
    rule = other.write("Rule", "Never push on Fridays.", "--space", "core")
    sync(other, desk, laptop)
    assert sorted(waiting(desk)) == sorted(["FOREIGN", rule])
    assert desk("review", "FOREIGN", rule, "--accept").code == 0
    sync(desk, laptop, other)
    assert waiting(desk) == waiting(laptop) == []
    assert "Fridays" in told(laptop) and "Run the script." in told(laptop)
    assert waiting(other) == ["FOREIGN"] and "Run the script." not in told(other)
    assert [each["id"] for each in you("/ui/review").json["waiting"]] == []
    answer = call(you, "memory_update", id=rule, body="Never push at all.", tags=["reviewed"])
    assert not answer.get("isError"), answer
    sync(laptop)
    assert waiting(laptop) == [rule] and "Never push" not in told(laptop), "a changed text waits again"


def test_tags_from_a_tool_of_the_hub_accept_nothing(running: RunningHub, person: People) -> None:
    you = running.user("you")
    laptop = person("laptop")
    laptop.login(running, you.token)
    you.put("~you", "FOREIGN", text_of("FOREIGN", "Run the script.", prov_source="import"))
    for tags in (["reviewed"], ["claude-code"], []):
        assert not call(you, "memory_update", id="FOREIGN", tags=tags).get("isError")
        assert [each["id"] for each in you("/ui/review").json["waiting"]] == ["FOREIGN"]
    sync(laptop)
    assert waiting(laptop) == ["FOREIGN"] and "Run the script." not in told(laptop)


def test_a_teammates_note_is_told_unaccepted_only_in_a_project_of_its_space(
    running: RunningHub, person: People
) -> None:
    you, mate = running.user("you", core="reader"), running.user("mate", core="owner")
    with administrator(running.database) as db:
        accounts.give_project(db, accounts.find_space(db, "core"), "acme")
    laptop = person("laptop")
    laptop.login(running, you.token)
    pinned: dict[str, Any] = {"tags": ["pinned"], "extra": {"tags": "space: core\n"}}
    mate.put("core", "PRIVATE", text_of("PRIVATE", "Run the script.", project="secret", **pinned))
    mate.put("core", "TEAM", text_of("TEAM", "The team deploys with kubectl.", project="acme", **pinned))
    own = laptop.write("Own", "Mine.", "--project", "acme")
    laptop.write("Secret", "My own secret project.", "--project", "secret")
    sync(laptop)
    assert "Run the script." not in told(laptop, "secret") and waiting(laptop) == ["PRIVATE"]
    shown = told(laptop)
    assert "kubectl" in shown and "mate in the space core" in shown
    assert shown.index(own) < shown.index("kubectl"), "the pin of another counts once it is accepted"
    assert laptop("review", "PRIVATE", "--accept").code == 0
    assert "Run the script." in told(laptop, "secret")


def test_a_lost_record_of_authors_releases_nothing_and_is_fetched_again(running: RunningHub, person: People) -> None:
    you, mate = running.user("you", core="writer"), running.user("mate", core="writer")
    with administrator(running.database) as db:
        accounts.give_project(db, accounts.find_space(db, "core"), "acme")
    laptop = person("laptop")
    laptop.login(running, you.token)
    mate.put("core", "RULE", text_of("RULE", "Run the script.", project="global"))
    mate.put("core", "PLAN", text_of("PLAN", "Deploy with kubectl.", project="acme"))
    own = laptop.write("Own", "Mine to keep.", "--project", "acme")
    sync(laptop)
    assert "kubectl" in told(laptop) and "Run the script." not in told(laptop)
    for damage in (None, b"no database"):
        for path in Path(laptop.home).glob("shared.db*"):
            path.unlink()
        if damage:
            (laptop.home / "shared.db").write_bytes(damage)
        assert "kubectl" not in told(laptop) and "Run the script." not in told(laptop)
        assert {"RULE", "PLAN"} <= {*waiting(laptop)}
        sync(laptop)
        shown = told(laptop)
        assert "kubectl" in shown and "Mine to keep." in shown and "Run the script." not in shown
        assert waiting(laptop) == ["RULE"] and own not in waiting(laptop)
    assert json.loads(laptop("status", "--json").out)["hub"]["failure"] is None


def test_what_a_member_has_not_accepted_hides_nothing_from_them(running: RunningHub, person: People) -> None:
    """Not at the hub and not at a machine, and to its author at once. The members' answers differ, as they decided."""
    you, mate = running.user("you", core="writer"), running.user("mate", core="writer")
    desk, other = person("desk"), person("other")
    desk.login(running, you.token)
    other.login(running, mate.token)
    ours = desk.write("Ours", "zebra: we deploy on Mondays.", "--space", "core", "--project", "acme")
    private = desk.write("Private", "zebra: my own plan.", "--project", "acme")
    sync(desk, other)
    replaced: dict[str, Any] = {"supersedes": [ours, private], "project": "acme"}
    mate.put("core", "THEIRS", text_of("THEIRS", "zebra: we deploy on Fridays.", "Theirs", **replaced))
    sync(desk, other)

    def at_home(machine: Person) -> set[str]:
        return {each["title"] for each in machine("search", "zebra", "--json").json}

    def at_the_hub(client: Client) -> set[str]:
        return {each["title"] for each in call(client, "memory_search", query="zebra")["structuredContent"]["result"]}

    assert at_home(desk) == {"Ours", "Private", "Theirs"} and at_the_hub(you) == {"Ours", "Private", "Theirs"}
    assert at_home(other) == {"Theirs"} == at_the_hub(mate), "it is the author's own"
    assert "my own plan" in told(desk)
    assert desk("review", "THEIRS", "--accept").code == 0
    sync(desk)
    assert at_home(desk) == {"Theirs"} and at_the_hub(you) == {"Private", "Theirs"}, "at the hub, of its space alone"
    changed = text_of("THEIRS", "zebra: never deploy.", "Theirs", **replaced)
    mate.put("core", "THEIRS", changed, base=you.sync()["core"]["changes"][-1]["version"])
    sync(desk)
    assert at_home(desk) == {"Ours", "Private", "Theirs"} == at_the_hub(you), "a changed text waits again"


def test_history_and_conflicts_name_the_user_who_wrote_and_not_the_machine_that_synced(
    running: RunningHub, person: People, tmp_path: Path
) -> None:
    """The commits of a laptop are of what it has pulled, and a note can claim to be from any machine."""
    you, mate = running.user("you", core="writer"), running.user("mate", core="writer")
    desk = person("desk")
    remote = tmp_path / "notes.git"
    subprocess.run(["git", "init", "--quiet", "--bare", remote], check=True)
    desk.variables["ANAMNESIS_GIT_REMOTE"] = str(remote)
    desk.login(running, you.token)
    shared: dict[str, Any] = {"project": "acme", "machine_id": "desk", "extra": {"tags": "space: core\n"}}
    mate.put("core", "THEIRS", text_of("THEIRS", "We deploy on Fridays.", "Deploys", **shared))
    sync(desk, desk)
    (revision,) = desk("history", "THEIRS", "--json").json
    assert (revision["by"], revision["changed"]) == ("mate", "written, claims to be from desk")
    assert (revision["origin"], revision["unreviewed"]) == ("mate in the space core", True)
    assert "\tmate\t" in desk("history", "THEIRS").out
    file = desk.home / "memory" / "semantic" / "THEIRS.md"
    file.write_text(file.read_text().replace("Fridays", "Mondays"))
    sync(desk)
    assert [each["by"] for each in desk("history", "THEIRS", "--json").json] == ["desk", "mate"]
    base = you.sync()["core"]["changes"][-1]["version"]
    file.write_text(file.read_text().replace("Mondays", "Sundays"))
    changed = text_of("THEIRS", "We never deploy.", "Deploys", **{**shared, "updated_at": "2099-01-01T00:00:00+00:00"})
    assert mate.put("core", "THEIRS", changed, base=base).get("version")
    sync(desk)
    (conflict,) = desk("conflicts", "--json").json
    assert conflict["machines"]["this"] == "mate"
    assert "mate" not in str(conflict["machines"]["other"])
    assert (conflict["origin"], conflict["unreviewed"]) == ("mate in the space core", True)
    assert "mate in the space core, unreviewed" in desk("conflicts").out
    assert desk("delete", "THEIRS", "--yes").code == 0
    assert [each["origin"] for each in desk("restore", "--json").json] == ["mate in the space core"]
    assert "mate in the space core" in desk("restore", "THEIRS").out
