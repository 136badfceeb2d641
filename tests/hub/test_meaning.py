"""Search by meaning with pgvector: notes are embedded in the background, and each tenant finds its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.hub.running import Client, RunningHub, text_of
from tests.hub.test_search import found
from tests.postgres import KEY, Postgres

from anamnesis.hub.database import Connection, administrator
from anamnesis.hub.fused import EXACT, by_meaning, closest
from anamnesis.hub.passages import WIDTH, Embedder, prepare, written
from anamnesis.hub.search import Wanted

NOTES = {
    "AUTH": ("Sign-in", "Users authenticate with a password and a second factor before they reach the dashboard."),
    "BACKUP": (
        "Copies",
        "Every night the database is copied to another data centre, in case the first one burns down.",
    ),
    "STYLE": ("Formatting", "Source files are indented by four blanks and wrapped at one hundred columns."),
    "FOOD": ("Lunch", "The canteen on the ground floor serves soup until two o'clock."),
}


@pytest.fixture(scope="module")
def hub(postgres: Postgres) -> Iterator[RunningHub]:
    url = postgres.new_hub()
    with administrator(url) as db:
        if not prepare(db):
            pytest.skip("This PostgreSQL has no pgvector.")
        assert prepare(db)  # again, it changes nothing
    with RunningHub(url) as running:
        you = running.user("you", core="writer")
        for id, (title, body) in NOTES.items():
            you.put("core", id, text_of(id, body, title))
        stranger = running.user("stranger", theirs="writer")
        for number in range(40):
            stranger.put(
                "theirs",
                f"S{number}",
                text_of(f"S{number}", f"How people log in at branch {number}: password.", "Login"),
            )
        embed(running)
        yield running


def embed(hub: RunningHub) -> None:
    embedder = Embedder(hub.hub.database)
    while embedder.embed_some():
        pass


@pytest.fixture
def you(hub: RunningHub) -> Client:
    return hub.user("you")


@pytest.mark.parametrize("exact", [EXACT, 0])
def test_a_note_is_found_by_what_it_means(hub: RunningHub, you: Client, exact: int) -> None:
    """One by one, and by the index that all tenants share: there, forty notes of another one are closer."""
    assert near(hub, you, "how do people log in?", 8, exact)[0] == "AUTH"
    assert near(hub, you, "copies of our data in case of fire", 8, exact, words=False)[0] == "BACKUP"
    assert all(not id.startswith("S") for id in near(hub, you, "log in with a password", 50, exact))


def near(hub: RunningHub, client: Client, query: str, k: int, exact: int, words: bool = True) -> list[str]:
    """What a search finds that compares up to `exact` passages one by one."""
    with hub.hub.database.entered(KEY.hash(client.token)) as (db, _):
        return [each.id for each in by_meaning(db, query, Wanted(), k, words=words, exact=exact)]


def test_routes_search_by_meaning(you: Client) -> None:
    assert found(you, "how do people log in?")[0] == "AUTH"
    assert found(you, "copies of our data in case of fire", mode="meaning")[0] == "BACKUP"
    assert len(found(you, "how do people log in?", mode="meaning", limit="4")) <= 4


def test_words_still_count(you: Client) -> None:
    assert found(you, "canteen soup")[0] == "FOOD"
    assert found(you, '"four blanks"') == ["STYLE"]


def test_a_change_and_a_deletion_are_followed(hub: RunningHub, you: Client) -> None:
    version = you.put("core", "GONE", text_of("GONE", "The lighthouse keeper feeds seagulls.", "Birds"))["version"]
    assert "GONE" in found(you, "lighthouse")  # by its words at once
    embed(hub)
    assert found(you, "who looks after the gulls?", mode="meaning")[0] == "GONE"
    you.put("core", "GONE", None, version)
    assert "GONE" not in found(you, "who looks after the gulls?", mode="meaning")
    embed(hub)
    with administrator(hub.database) as db:
        rows = db.execute("SELECT count(*) AS n FROM anamnesis.passages WHERE id = 'GONE'").fetchone()
        assert rows and rows["n"] == 0


@pytest.fixture(scope="module")
def crowd(postgres: Postgres) -> Iterator[RunningHub]:
    """A space of 2,800 notes and 3,000 passages beside one of 1,000; a note of each is superseded."""
    url = postgres.new_hub()
    with administrator(url) as db:
        if not prepare(db):
            pytest.skip("This PostgreSQL has no pgvector.")
    with RunningHub(url) as running:
        running.user("many", crowd="writer")
        running.user("other", others="writer")
        with administrator(url) as db:
            query = "SELECT indexdef FROM pg_indexes WHERE indexname = 'passages_near'"
            index = (db.execute(query).fetchone() or {})["indexdef"]
            db.execute("DROP INDEX anamnesis.passages_near")  # making it at the end takes a tenth of the time
            fill(db, "crowd", 2800, 200)
            fill(db, "others", 1000, 0)
            db.execute(index)
            db.execute(
                "INSERT INTO anamnesis.supersessions SELECT space, 'N7', 'N8' FROM anamnesis.notes WHERE id = 'N8'"
            )
            db.execute("ANALYZE")
        yield running


def fill(db: Connection, space: str, notes: int, further: int) -> None:
    """Notes with random vectors; the first `further` have a second passage."""
    chance = np.random.default_rng(notes)
    db.execute(
        """
        INSERT INTO anamnesis.notes (space, id, version, type, project, title)
        SELECT s.id, 'N' || n, n, CASE WHEN n %% 50 = 0 THEN 'procedural' ELSE 'semantic' END, 'p' || n %% 1000, 'x'
        FROM anamnesis.spaces s, generate_series(1, %(notes)s) AS n WHERE s.name = %(space)s
        """,
        {"space": space, "notes": notes},
    )
    numbers = [*range(1, notes + 1), *range(1, further + 1)]
    with db.cursor() as cursor:
        cursor.executemany(
            """
            INSERT INTO anamnesis.passages
            SELECT id, %(note)s, %(number)s, %(vector)s::halfvec FROM anamnesis.spaces WHERE name = %(space)s
            """,
            [
                {"note": f"N{note}", "number": place, "vector": written(vector), "space": space}
                for place, (note, vector) in enumerate(
                    zip(numbers, chance.normal(size=(len(numbers), WIDTH)), strict=True)
                )
            ],
        )
    db.execute(
        "INSERT INTO anamnesis.embedded (space, passages) SELECT space, count(*) FROM anamnesis.passages"
        " GROUP BY 1 ON CONFLICT (space) DO UPDATE SET passages = excluded.passages"
    )


@pytest.mark.parametrize("exact", [EXACT, 0])
def test_the_index_finds_no_fewer_notes_than_there_are(crowd: RunningHub, exact: int) -> None:
    """Without filters, with those that leave 56 notes or three, and where a space has a quarter of the passages."""
    many, other = crowd.user("many"), crowd.user("other")
    given = written(np.random.default_rng(1).normal(size=WIDTH).astype(np.float32))
    expected = [
        (Wanted(), (2799, 999)),
        (Wanted(type="procedural"), (56, 20)),
        (Wanted(projects=["p7"]), (2, 0)),
        (Wanted(projects=["p8"]), (3, 1)),
        (Wanted(projects=["p7"], type="procedural"), (0, 0)),
    ]
    for wanted, counts in expected:
        for client, there in zip((many, other), counts, strict=True):
            with crowd.hub.database.entered(KEY.hash(client.token)) as (db, caller):
                spaces = {held.id for held in caller.spaces.values()}
                for k in (1, 30, 124):
                    keys = closest(db, given, wanted, k, exact)
                    assert len(set(keys)) == len(keys) == min(k, there), (wanted, k)
                    assert {space for space, _ in keys} <= spaces
                    assert "N7" not in [id for _, id in keys]


def test_the_index_finds_nearly_the_same_notes_as_comparing_all(crowd: RunningHub) -> None:
    chance = np.random.default_rng(2)
    with crowd.hub.database.entered(KEY.hash(crowd.user("many").token)) as (db, _):
        same = 0
        for _ in range(20):
            given = written(chance.normal(size=WIDTH).astype(np.float32))
            by_index, one_by_one = (closest(db, given, Wanted(), 10, exact) for exact in (0, EXACT))
            same += len(set(by_index) & set(one_by_one))
        db.execute("SELECT pg_stat_force_next_flush()")
    with administrator(crowd.database) as db:
        query = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'passages_near'"
        assert (db.execute(query).fetchone() or {})["idx_scan"] >= 20
    assert same >= 150  # of 200; random vectors are all about as far away as each other, which is the hardest case
