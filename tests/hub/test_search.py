"""Search at the hub: what is found, in which order, and that nothing of another tenant is."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict
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


def test_the_best_notes_are_those_of_bm25_over_all_notes(hub: RunningHub) -> None:
    """Notes that cannot be among the best are never read; which are the best is the same as if all were scored."""
    many = hub.user("many", crowd="writer", second="writer")
    texts = dict(crowded(random.Random(7), 1200))
    for space, ids in (("crowd", [*texts][:900]), ("second", [*texts][900:])):
        changes = [{"space": space, "id": id, "base": 0, "text": text_of(id, *texts[id][::-1])} for id in ids]
        for start in range(0, len(changes), 450):
            many("/v1/changes", {"machine": "desk", "changes": changes[start : start + 450]})
    queries = [
        "w2 w9 w30 w77 w150",
        "w0 w1",
        "w40",
        "w3 w4 w5 w6",
        "w180 w0",
        "w1",
        " ".join(f"w{n}" for n in range(90, 99)),
    ]
    for query, space, limit in itertools.product(queries, ("", "crowd"), (8, 50)):
        searched = {id: text for id, text in texts.items() if not space or id < "C0900"}
        wanted = bm25(searched, query.split())
        hits = many(f"/v1/search?{urlencode({'q': query, 'space': space, 'limit': limit, 'mode': 'words'})}").json
        got = {note["id"]: note["score"] for note in hits["notes"]}
        best = sorted(wanted.values(), reverse=True)[:limit]
        assert [*got.values()] == pytest.approx(best, abs=2e-6), query
        assert [wanted[id] for id in got] == pytest.approx(best, abs=2e-6), query


def crowded(chance: random.Random, count: int) -> Iterator[tuple[str, tuple[str, str]]]:
    """Notes of 5 to 200 words; the r-th of 200 words is drawn with a chance of 1/r."""
    words, weights = [f"w{rank}" for rank in range(200)], [1 / rank for rank in range(1, 201)]
    for number in range(count):
        title, *body = chance.choices(words, weights, k=chance.choice((5, 20, 60, 200)))
        yield f"C{number:04}", (title, " ".join(body))


def bm25(texts: dict[str, tuple[str, str]], words: list[str]) -> dict[str, float]:
    """The scores of the notes that hold any of the words."""
    counts = {id: Counter(" ".join(text).split()) for id, text in texts.items()}
    average = sum(count.total() for count in counts.values()) / len(texts)
    scores: dict[str, float] = defaultdict(float)
    for word in words:
        held = [id for id in texts if counts[id][word]]
        weight = math.log(1 + (len(texts) - len(held) + 0.5) / (len(held) + 0.5))
        for id in held:
            times, length = counts[id][word], counts[id].total()
            scores[id] += weight * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / average))
    return scores


def test_filters_leave_no_note_out_however_common_the_words_are(hub: RunningHub) -> None:
    few = hub.user("few", sparse="writer")
    changes = [
        {
            "space": "sparse",
            "id": f"F{number}",
            "base": 0,
            "text": text_of(
                f"F{number}", f"alpha word{number}", type="procedural" if number % 100 == 0 else "semantic"
            ),
        }
        for number in range(1000)
    ]
    for start in range(0, len(changes), 500):
        few("/v1/changes", {"machine": "desk", "changes": changes[start : start + 500]})
    assert len(found(few, "alpha", type="procedural", limit="20", mode="words")) == 10
    assert found(few, "alpha word300", type="procedural", limit="20", mode="words")[0] == "F300"
    assert len(found(few, "alpha", limit="20", mode="words")) == 20


def test_common_words_alone_find_notes_too(hub: RunningHub) -> None:
    """A note with two of the words, or with the word twice, comes before hundreds of others."""
    many = hub.user("common", throng="writer")
    changes = [
        {
            "space": "throng",
            "id": f"C{number}",
            "base": 0,
            "text": text_of(f"C{number}", "alpha " + "x" * (number % 7 + 1)),
        }
        for number in range(900)
    ]
    changes += [
        {"space": "throng", "id": f"D{number}", "base": 0, "text": text_of(f"D{number}", "beta gamma")}
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
