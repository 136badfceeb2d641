"""Changes of one space become visible in the order of their versions, whoever makes them and however they overlap."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
from tests.hub.running import RunningHub, text_of
from tests.postgres import KEY
from tests.waiting import wait_until

from anamnesis.hub.changes import accept
from anamnesis.hub.database import administrator
from anamnesis.hub.incoming import read_changes


def incoming(space: str, id: str, body: str = "Words.", base: int = 0) -> object:
    change = {"space": space, "id": id, "base": base, "text": text_of(id, body)}
    return read_changes({"machine": "desk", "changes": [change]})[1]


def test_a_reader_never_skips_a_change_that_commits_late(running: RunningHub) -> None:
    """The second change waits for the first, so that no cursor can pass over the first one."""
    you, mate = running.user("you", core="writer"), running.user("mate", core="writer")
    with running.hub.database.entered(KEY.hash(you.token)) as (db, caller):
        (result,) = accept(db, caller, "desk", incoming("core", "late"))  # type: ignore[arg-type]
        assert result["version"] == 1
        with ThreadPoolExecutor() as pool:
            second = pool.submit(mate.put, "core", "early", text_of("early"))
            wait_until(running.waiting)
            nothing = mate.sync()["core"]
            assert (nothing["seq"], nothing["changes"], nothing["more"]) == (0, [], False)
            db.commit()
            assert second.result()["version"] == 2
    assert [(each["id"], each["version"]) for each in mate.sync()["core"]["changes"]] == [("late", 1), ("early", 2)]


def test_what_commits_between_the_sequence_and_the_reading_is_for_the_next_time(running: RunningHub) -> None:
    """`enter` reads the sequence; a change of the same note meanwhile is not lost, only later."""
    from anamnesis.hub.changes import changes_since

    you = running.user("you")
    you.put("~you", "N1", text_of("N1"))
    you.put("~you", "N2", text_of("N2"))
    with running.hub.database.entered(KEY.hash(you.token)) as (db, caller):
        you.put("~you", "N1", text_of("N1", "Changed meanwhile."), base=1)
        found = changes_since(db, caller, {}, 500)["~you"]
    assert ([each["id"] for each in found["changes"]], found["seq"], found["more"]) == (["N2"], 2, False)
    later = you.sync(own=2)["~you"]
    assert ([each["version"] for each in later["changes"]], later["seq"]) == ([3], 3)


def test_many_writers_and_a_reader_that_follows_by_its_cursor(running: RunningHub) -> None:
    writers = [running.user(f"user{number}", core="writer") for number in range(4)]
    done = threading.Event()

    def write(number: int) -> list[int]:
        client = writers[number]
        return [client.put("core", f"N{number}-{each}", text_of(f"N{number}-{each}"))["version"] for each in range(12)]

    def follow() -> list[int]:
        cursor, seen = 0, []
        while True:
            is_last = done.is_set()
            page = writers[0].sync(limit=5, core=cursor)["core"]
            seen += [each["version"] for each in page["changes"]]
            cursor = page["seq"] if not page["more"] else seen[-1]
            if is_last and not page["more"]:
                return seen

    with ThreadPoolExecutor() as pool:
        reader = pool.submit(follow)
        versions = sorted(version for found in pool.map(write, range(4)) for version in found)
        done.set()
        assert versions == [*range(1, 49)]
        assert reader.result() == versions


def test_of_changes_on_the_same_version_one_is_accepted(running: RunningHub) -> None:
    clients = [running.user(f"user{number}", core="writer") for number in range(4)]
    clients[0].put("core", "N1", text_of("N1"))

    def change(number: int) -> dict[str, Any]:
        return clients[number].put("core", "N1", text_of("N1", f"By {number}."), base=1)

    with ThreadPoolExecutor() as pool:
        results = [*pool.map(change, range(4))]
    (won,) = [each for each in results if "version" in each]
    assert won["version"] == 2
    assert [each["conflict"]["version"] for each in results if "conflict" in each] == [2, 2, 2]


def test_requests_over_several_spaces_do_not_wait_for_each_other_in_a_circle(running: RunningHub) -> None:
    you = running.user("you", one="writer", two="writer")

    def push(number: int) -> int:
        names = ["one", "two"] if number % 2 else ["two", "one"]
        changes = [{"space": name, "id": f"N{number}", "base": 0, "text": text_of(f"N{number}")} for name in names]
        return you("/v1/changes", {"machine": "desk", "changes": changes}).status

    with ThreadPoolExecutor(8) as pool:
        assert {*pool.map(push, range(24))} == {200}


def test_a_change_is_announced_with_its_space_and_sequence_when_it_is_committed(running: RunningHub) -> None:
    you = running.user("you", core="writer")
    with psycopg.connect(running.database, autocommit=True) as listener:
        listener.execute("LISTEN anamnesis_changes")
        you.put("core", "N1", text_of("N1"))
        you.put("core", "N1", text_of("N1"))  # nothing new
        you.put("core", "N2", text_of("N2"))
        told = [each.payload for each in listener.notifies(timeout=60, stop_after=2)]
    with administrator(running.database) as db:
        space = (db.execute("SELECT id FROM anamnesis.spaces WHERE name = 'core'").fetchone() or {})["id"]
    assert told == [f"{space} 1", f"{space} 2"]
