"""Notes that the database cannot store as they are: each is stored in part or refused by itself, never its batch."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from tests.hub.running import Client, RunningHub, text_of

from anamnesis.hub.database import administrator

LONG = "github.com/" + "".join(f"{number:x}" for number in range(3_000))[:5_989]
# Each character of these becomes three to six.
_EXPANDING = [chr(number) for number in range(0x3300, 0x3358)]


def expanding(characters: int) -> str:
    """A text of different words, each of which is longer after its normalisation."""
    words = ("".join(each) for each in itertools.product(_EXPANDING, repeat=10))
    return " ".join(itertools.islice(words, characters // 11))


def words(size: int) -> str:
    return " ".join(f"w{number:x}" for number in range(size // 6))[:size]


def push(client: Client, *texts: tuple[str, str], space: str = "~you") -> list[dict[str, Any]]:
    """What became of each of the notes, sent at once."""
    changes = [{"space": space, "id": id, "base": 0, "text": text} for id, text in texts]
    answer = client("/v1/changes", {"machine": "desk", "changes": changes})
    assert answer.status == 200, answer.body
    return [*answer.json["results"]]


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(text_of("BAD", title=words(810_000)), id="a long title"),
        pytest.param(text_of("BAD", tags=words(600_000).split()), id="many tags"),
        pytest.param(text_of("BAD", expanding(150_000)), id="a body that its normalisation lengthens"),
        pytest.param(text_of("BAD", title=expanding(60_000), body=expanding(150_000)), id="both"),
        pytest.param(text_of("BAD", updated_at=LONG, created_at=LONG), id="a time that is none"),
    ],
)
def test_a_note_of_too_many_words_is_stored_with_those_that_there_is_room_for(shared: RunningHub, bad: str) -> None:
    name = f"member-{abs(hash(bad))}"
    you = shared.user(name)
    results = push(you, ("N1", text_of("N1")), ("BAD", bad), ("N2", text_of("N2")), space=f"~{name}")
    assert [result.get("version") for result in results] == [1, 2, 3], results
    assert you(f"/v1/spaces/~{name}/notes/BAD").json["text"] == bad


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (text_of("BAD", project=LONG), "The project has 6,000 bytes; at most 1,000 are possible."),
        (text_of("BAD").replace("title: A note", 'title: "A\\0note"'), "The note holds a NUL character."),
        (text_of("BAD").replace("tags: []", 'tags: ["a\\0b"]'), "The note holds a NUL character."),
    ],
)
def test_a_note_that_cannot_be_stored_is_refused_alone(shared: RunningHub, bad: str, reason: str) -> None:
    name = f"member-{abs(hash(bad))}"
    you = shared.user(name)
    results = push(you, ("N1", text_of("N1")), ("BAD", bad), ("N2", text_of("N2")), space=f"~{name}")
    assert [result.get("version") for result in results] == [1, None, 2]
    assert results[1]["refused"].startswith(reason)


def test_what_the_database_itself_refuses_is_refused_alone_with_its_reason(running: RunningHub) -> None:
    """A rule of the database stands for any that this program does not know."""
    with administrator(running.database) as db:
        db.execute("ALTER TABLE anamnesis.notes ADD CONSTRAINT no_curse CHECK (title <> 'Cursed')")
    you = running.user("you", core="writer")
    titles = [f"Note {number}" for number in range(20)]
    titles[3] = titles[4] = titles[19] = "Cursed"
    results = push(you, *((f"N{number}", text_of(f"N{number}", title=title)) for number, title in enumerate(titles)))
    assert [result.get("version") for result in results if "version" in result] == [*range(1, 18)]
    assert [number for number, result in enumerate(results) if "refused" in result] == [3, 4, 19]
    assert results[3]["refused"].startswith("The hub's database cannot store it: new row for relation")
    assert push(you, ("N3", text_of("N3", title="Good")))[0]["version"] == 18
    stored = {each["id"]: each["version"] for each in you.sync()["~you"]["changes"]}
    assert stored == {result["id"]: result["version"] for result in results if "version" in result} | {"N3": 18}


def test_a_project_of_a_space_is_no_longer_than_that_of_a_note(shared: RunningHub) -> None:
    owner = shared.user("owner", "admin", given="owner")
    assert owner("/ui/spaces/given/projects", f"project={'p' * 1_000}".encode()).status == 200
    refused = owner("/ui/spaces/given/projects", f"project={'p' * 1_001}".encode())
    assert (refused.status, refused.json["error"]) == (400, f"'{'p' * 40}' is not the key of a project.")
