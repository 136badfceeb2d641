"""The exchange: changes by cursor, compare-and-set, and what the hub refuses."""

from __future__ import annotations

import json

import pytest
from tests.hub.running import RunningHub, text_of

from anamnesis.hub.database import administrator
from anamnesis.notes import parse


def test_what_one_machine_sends_another_gets_byte_for_byte(running: RunningHub) -> None:
    you = running.user("you", core="writer")
    mate = running.user("mate", core="reader")
    text = text_of("N1", "Ünïcode — and “quotes”.\r\n\ttab").replace("tags: []", "tags: []\naliases: [x]  # mine")
    assert you.put("core", "N1", text) == {"id": "N1", "space": "core", "version": 1}
    (change,) = mate.sync()["core"]["changes"]
    assert change.pop("at").endswith("+00:00")
    assert change == {"id": "N1", "version": 1, "text": text, "author": "you", "machine": "desk"}


def test_a_change_is_accepted_on_the_current_version_only(running: RunningHub) -> None:
    you = running.user("you")
    first, second = text_of("N1", "First."), text_of("N1", "Second.")
    assert you.put("~you", "N1", first)["version"] == 1
    conflict = you.put("~you", "N1", second)["conflict"]
    assert (conflict["version"], conflict["text"], conflict["author"]) == (1, first, "you")
    assert you.put("~you", "N1", second, base=1)["version"] == 2
    assert you.put("~you", "N1", None, base=1)["conflict"]["version"] == 2
    assert you.put("~you", "N1", None, base=2) == {"id": "N1", "space": "~you", "version": 3}
    tombstone = you.put("~you", "N1", first)["conflict"]
    assert (tombstone["version"], tombstone["text"]) == (3, None)
    assert you.put("~you", "N1", first, base=3)["version"] == 4
    assert [each["version"] for each in you("/v1/spaces/~you/notes/N1/versions").json["versions"]] == [4, 3, 2, 1]
    assert you("/v1/spaces/~you/notes/N1/versions/2").json["text"] == second
    assert you("/v1/spaces/~you/notes/N1").json["version"] == 4


def test_a_request_that_is_repeated_after_a_lost_answer_changes_nothing(running: RunningHub) -> None:
    you = running.user("you")
    text = text_of("N1")
    assert [you.put("~you", "N1", text)["version"] for _ in range(3)] == [1, 1, 1]
    assert [you.put("~you", "N1", None, base=1)["version"] for _ in range(3)] == [2, 2, 2]
    assert you.sync()["~you"]["seq"] == 2
    assert you.put("~you", "never", None)["version"] == 0


def test_a_version_that_the_hub_has_lost_is_no_deletion(running: RunningHub) -> None:
    conflict = running.user("you").put("~you", "N1", text_of("N1"), base=7)["conflict"]
    assert (conflict["version"], conflict["text"]) == (0, None)


def test_a_request_is_applied_in_order_and_a_refused_change_does_not_stop_the_others(running: RunningHub) -> None:
    you = running.user("you", core="writer")
    given = [
        ("core", "N1", 0, text_of("N1", "One.")),
        ("core", "N2", 0, "no note"),
        ("~you", "N3", 0, text_of("N3")),
        ("core", "N1", 1, text_of("N1", "Two.", supersedes="N0")),
        ("core", "N1", 2, text_of("N1", "Three.")),
        ("none", "N4", 0, text_of("N4")),
    ]
    changes = [{"space": space, "id": id, "base": base, "text": text} for space, id, base, text in given]
    results = you("/v1/changes", {"machine": "desk", "changes": changes}).json["results"]
    assert [each.get("version") for each in results] == [1, None, 1, 2, 3, None]
    assert "front-matter" in results[1]["refused"]
    assert results[5]["refused"] == "There is no space 'none' that you may see."
    spaces = you.sync()
    assert [(each["id"], each["version"]) for each in spaces["core"]["changes"]] == [("N1", 3)]
    assert spaces["core"]["seq"] == 3
    assert parse(spaces["core"]["changes"][0]["text"]).body == "Three."


def test_a_change_for_another_space_of_the_same_name_is_refused(running: RunningHub) -> None:
    """A client may give the id of the space it means; clients that give only the name are still accepted."""
    you = running.user("you", core="writer")
    id = you.sync()["core"]["id"]
    change = {"space": "core", "id": "N1", "base": 0, "text": text_of("N1")}
    changes = [{**change, "space_id": id + 1}, {**change, "space_id": id}, {**change, "base": 1, "text": None}]
    results = you("/v1/changes", {"machine": "desk", "changes": changes}).json["results"]
    reason = f"The space 'core' is not the one with the id {id + 1} any more."
    assert results[0] == {"id": "N1", "space": "core", "refused": reason, "space_id": id}
    assert [each.get("version") for each in results] == [None, 1, 2]
    answer = you("/v1/changes", {"machine": "desk", "changes": [{**change, "space_id": "x"}]})
    assert answer.status == 400
    assert answer.json["error"] == "`space_id` 'x' is not a whole number from 0 on."


def test_only_the_current_version_after_the_cursor_comes_in_order_and_in_pages(running: RunningHub) -> None:
    you = running.user("you")
    for number in range(7):
        you.put("~you", f"N{number}", text_of(f"N{number}"))
    you.put("~you", "N2", text_of("N2", "Changed."), base=3)
    seen, cursor, pages = [], 0, 0
    while True:
        page = you.sync(limit=3, own=cursor)["~you"]
        pages += 1
        seen += [(each["id"], each["version"]) for each in page["changes"]]
        if not page["more"]:
            break
        cursor = seen[-1][1]
    assert seen == [("N0", 1), ("N1", 2), ("N3", 4), ("N4", 5), ("N5", 6), ("N6", 7), ("N2", 8)]
    assert pages == 3
    nothing = you.sync(own=8)["~you"]
    assert nothing == {"id": 1, "role": "owner", "projects": [], "seq": 8, "changes": [], "more": False}


def test_an_answer_has_at_most_four_megabytes_of_texts(running: RunningHub) -> None:
    you = running.user("you", other="writer")
    for number in range(6):
        you.put("~you", f"N{number}", text_of(f"N{number}", f"{number} " + "word " * 180_000))
    you.put("other", "M1", text_of("M1"))
    first = you.sync()
    assert len(first["other"]["changes"]) == 1
    assert (len(first["~you"]["changes"]), first["~you"]["more"]) == (5, True)
    rest = you.sync(own=first["~you"]["changes"][-1]["version"])["~you"]
    assert ([each["id"] for each in rest["changes"]], rest["more"]) == (["N5"], False)


def test_a_cursor_of_another_history_starts_again(running: RunningHub) -> None:
    you = running.user("you")
    you.put("~you", "N1", text_of("N1"))
    found = you.sync(own=99)["~you"]
    assert (found["reset"], len(found["changes"])) == (True, 1)


def test_a_space_that_is_not_visible_any_more_is_gone(running: RunningHub) -> None:
    you = running.user("you", core="writer")
    assert you.sync(core=0, elsewhere=3)["elsewhere"] == {"gone": True}


SECRET = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"


def test_secrets_are_redacted_at_the_door_and_the_writer_gets_the_redacted_text(running: RunningHub) -> None:
    you = running.user("you")
    result = you.put("~you", "N1", text_of("N1", f"The token is {SECRET}."))
    assert SECRET not in result["text"]
    assert you("/v1/spaces/~you/notes/N1").json["text"] == result["text"]
    assert you("/v1/spaces/~you/notes/N1/versions").json["versions"][0]["redacted"] is True
    with administrator(running.database) as db:
        stored = db.execute(
            "SELECT v.*, n.tsv::text FROM anamnesis.versions v JOIN anamnesis.notes n USING (space, id)"
        )
        assert SECRET.lower() not in json.dumps(stored.fetchall(), default=str).lower()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no note", "memory file missing YAML front-matter."),
        (text_of("N1", scope="machine-local"), "The note is machine-local."),
        (text_of("N2"), "The text is the one of note 'N2', not of 'N1'."),
        (text_of("N1", "x" * 1_000_000), "The note has 1,000,"),
        (text_of("N1", "a\0b"), "The note holds a NUL character."),
        (text_of("N1").replace("A note", "\ud800"), "The note is not valid Unicode."),
        (text_of("N1").replace("semantic", "poem"), "type 'poem' is not one of"),
        (text_of("N1").replace("tags: []", f"tags: []\napi: {SECRET}"), "The front matter holds a secret"),
        (text_of("N1").replace("---\n", "---\n{", 1), ""),
    ],
)
def test_what_cannot_be_a_note_of_the_hub_is_refused_with_a_sentence(text: str, reason: str) -> None:
    from anamnesis.hub.incoming import read_changes

    body = {"machine": "desk", "changes": [{"space": "core", "id": "N1", "base": 0, "text": text}]}
    _, (change,) = read_changes(body)
    assert change.refused.startswith(reason)
    assert change.refused.endswith(".")


def test_a_name_that_cannot_be_encoded_gets_an_answer(running: RunningHub) -> None:
    you = running.user("you")
    assert {"gone": True} in you.sync(**{"\ud800": 1}).values()
    assert "is not a note id" in you.put("~you", "\ud800", None)["refused"]
    assert "There is no space" in you.put("\ud800", "N1", None)["refused"]


def test_an_id_that_is_no_file_name_is_refused(running: RunningHub) -> None:
    assert "is not a note id" in running.user("you").put("~you", "../N1", None)["refused"]


@pytest.mark.parametrize(
    ("path", "body", "status", "sentence"),
    [
        ("/v1/changes", b"{", 400, "The body is not JSON."),
        ("/v1/changes", b"[" * 100_000, 400, "The body is not JSON."),
        ("/v1/changes", [], 400, "The body is not a JSON object."),
        ("/v1/changes", {"machine": "desk"}, 400, "`changes` is not a list."),
        ("/v1/changes", {"machine": "a/b", "changes": []}, 400, "`machine` 'a/b' is not the name of a machine."),
        ("/v1/changes", {"machine": "desk", "changes": [{"id": 3}]}, 400, "A change needs"),
        ("/v1/changes", {"machine": "desk", "changes": [{}] * 501}, 413, "501 changes are too many."),
        ("/v1/changes", b" " * 10_000_001, 413, "The body is larger than 10,000,000 bytes."),
        ("/v1/sync", {"machine": "desk", "cursors": {"core": -1}}, 400, "`cursors.core` -1 is not a whole number"),
        ("/v1/sync", {"machine": "desk", "cursors": {"core": True}}, 400, "`cursors.core` True is not a whole number"),
        ("/v1/sync", {"machine": "desk", "cursors": 7}, 400, "`cursors` is not an object"),
        ("/v1/spaces/~you/notes/N1/versions/x", None, 400, "'x' is not a version."),
        ("/v1/spaces/~you/notes/N1", None, 404, "There is no note 'N1' in '~you'."),
        ("/v1/spaces/~you/notes/a%00b", None, 404, "A name holds a character"),
        ("/v1/spaces/%FF%ED%A0%80/notes/N1", None, 404, "There is no space"),
        ("/v1/spaces/none/notes/N1", None, 404, "There is no space 'none' that you may see."),
        ("/v1/elsewhere", None, 404, "There is nothing at /v1/elsewhere."),
        ("/v1/me", {}, 405, "POST is not possible here."),
    ],
)
def test_a_bad_request_gets_one_sentence(
    shared: RunningHub, path: str, body: object, status: int, sentence: str
) -> None:
    answer = shared.user("you")(path, body)
    assert (answer.status, answer.json["error"][: len(sentence)]) == (status, sentence)
    assert answer.json["error"].endswith(".")


def test_the_authors_of_many_notes_of_a_space(shared: RunningHub) -> None:
    ann, joe, out = shared.user("ann", pair="writer"), shared.user("joe", pair="writer"), shared.user("out")
    first = ann.put("pair", "A1", text_of("A1", "one"))["version"]
    joe.put("pair", "A1", text_of("A1", "two"), base=first)
    ann.put("pair", "A2", text_of("A2"))
    ask = {"ids": ["A1", "A2", "A3"]}
    assert ann("/v1/spaces/pair/authors", ask).json == {"authors": {"A1": ["joe", "ann"], "A2": ["ann"]}}
    assert out("/v1/spaces/pair/authors", ask).status == 404
    for wrong in ({}, {"ids": "A1"}, {"ids": [1]}, {"ids": ["A"] * 501}):
        assert ann("/v1/spaces/pair/authors", wrong).status == 400
