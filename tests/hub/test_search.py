"""Search at the hub: what is found, in which order, and that nothing of another tenant is."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from tests.hub.running import Client, RunningHub, text_of
from tests.postgres import Postgres


@pytest.fixture(scope="module")
def hub(postgres: Postgres) -> Iterator[RunningHub]:
    with RunningHub(postgres.new_hub()) as running:
        yield running


@pytest.fixture(scope="module")
def you(hub: RunningHub) -> Client:
    """A writer of `core`, which has some notes."""
    you = hub.user("you", core="writer")
    notes = {
        "DB": text_of(
            "DB", "We chose PostgreSQL; migrations are forward only.", "Database of the hub", tags=["storage"]
        ),
        "PORT": text_of(
            "PORT", "The daemon listens on port 7437.", "Port", project="github.com/acme/web", type="procedural"
        ),
        "CASE": text_of("CASE", "Call getUserById before the request is answered.", "Lookup"),
        "SNAKE": text_of("SNAKE", "The function is get_user_by_id in models.py.", "Models"),
        "OLD": text_of("OLD", "Databases are backed up weekly.", "Backups"),
        "NEW": text_of("NEW", "Databases are backed up nightly.", "Backups now", supersedes="OLD"),
        "UMLAUT": text_of("UMLAUT", "Die Größe der Prüfsumme ist 32 Bytes.", "Länge"),
    }
    for id, text in notes.items():
        assert "version" in you.put("core", id, text)
    return you


def found(client: Client, query: str, **filters: str) -> list[str]:
    answer = client(f"/v1/search?{urlencode({'q': query, **filters})}")
    assert answer.status == 200, answer.body
    return [note["id"] for note in answer.json["notes"]]


def test_a_note_is_found_by_any_form_of_its_words_in_title_tags_and_body(you: Client) -> None:
    assert found(you, "migration")[0] == "DB"
    assert found(you, "what is in storage?")[0] == "DB"
    assert found(you, "the database of the hub")[0] == "DB"
    assert found(you, "GROSSE prufsumme") == ["UMLAUT"]
    assert found(you, "nothing like this at all") == []


def test_superseded_notes_are_left_out(you: Client) -> None:
    assert "NEW" in found(you, "backed up") and "OLD" not in found(you, "backed up")


def test_identifiers_are_found_whole_and_by_their_parts(you: Client) -> None:
    assert found(you, "getUserById")[0] == "CASE"
    assert "SNAKE" in found(you, "getUserById")
    assert found(you, "get_user_by_id")[0] == "SNAKE"


def test_a_phrase_is_wanted_as_it_stands(you: Client) -> None:
    assert found(you, '"backed up nightly"') == ["NEW"]
    assert found(you, '"up backed nightly"') == []


def test_filters_by_space_project_and_type(you: Client) -> None:
    assert found(you, "port", type="procedural") == ["PORT"]
    assert found(you, "port", type="episodic") == []
    assert found(you, "port", project="github.com/acme/web") == ["PORT"]
    assert found(you, "port", project="web") == ["PORT"]
    assert found(you, "port", project="other") == []
    assert found(you, "port", space="core") == ["PORT"]
    assert found(you, "port", space="~you") == []


def test_hits_have_what_a_list_shows(you: Client) -> None:
    (note,) = you("/v1/search?q=7437").json["notes"]
    assert note["space"] == "core" and note["title"] == "Port" and note["project"] == "github.com/acme/web"
    assert "port 7437" in note["excerpt"] and note["score"] > 0


def test_bad_requests_get_a_sentence(you: Client) -> None:
    for query in ("q=x&type=opinion", "q=x&space=nowhere", "q=x&limit=0", "q=" + "x" * 20_000, "", "q=x&mode=guess"):
        answer = you(f"/v1/search?{query}")
        assert answer.status in (400, 404) and answer.json["error"], query


def test_any_text_is_a_query(you: Client) -> None:
    for query in ("' | 1:x", "!(a & b):*", "\\", '"', "\x00", "12:database", "a <-> b", "🦊", "%s %(x)s", "\ud83d"):
        assert isinstance(found(you, query.encode("utf-8", "surrogatepass").decode("utf-8", "replace")), list)


def test_common_words_alone_find_notes_too(hub: RunningHub) -> None:
    """Where every word is in more notes than are scored, those with two of them or with one in the title come first."""
    many = hub.user("many", crowd="writer")
    changes = [
        {
            "space": "crowd",
            "id": f"C{number}",
            "base": 0,
            "text": text_of(f"C{number}", "alpha " + "x" * (number % 7 + 1)),
        }
        for number in range(900)
    ]
    changes += [
        {"space": "crowd", "id": f"D{number}", "base": 0, "text": text_of(f"D{number}", "beta gamma")}
        for number in range(900)
    ]
    changes[500]["text"] = text_of("C500", "alpha beta both")
    changes[501]["text"] = text_of("C501", "alpha", "Alpha of all")
    for start in range(0, len(changes), 450):
        many("/v1/changes", {"machine": "desk", "changes": changes[start : start + 450]})
    assert found(many, "alpha beta")[0] == "C500"
    assert found(many, "alpha")[0] == "C501"
    assert len(found(many, "alpha", limit="20")) == 20
    assert len(found(many, "gamma", limit="20")) == 20


def test_nobody_finds_what_another_tenant_wrote(hub: RunningHub, you: Client) -> None:
    stranger = hub.user("stranger", theirs="owner")
    for query in ("database", "port 7437", "getUserById"):
        assert found(stranger, query) == []
    assert stranger("/v1/search?q=port&space=core").status == 404
    assert stranger("/v1/search?q=port&space=~you").status == 404
    reader = hub.user("reader", core="reader")
    assert found(reader, "port") == ["PORT"]
