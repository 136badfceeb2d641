"""Search by meaning with pgvector: notes are embedded in the background, and each tenant finds its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.hub.running import Client, RunningHub, text_of
from tests.hub.test_search import found
from tests.postgres import Postgres

from anamnesis.hub import fused
from anamnesis.hub.database import administrator
from anamnesis.hub.passages import Embedder, prepare

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


@pytest.mark.parametrize("exact", [10_000, 0])
def test_a_note_is_found_by_what_it_means(you: Client, monkeypatch: pytest.MonkeyPatch, exact: int) -> None:
    """One by one, and by the index that all tenants share: there, forty notes of another one are closer."""
    monkeypatch.setattr(fused, "_EXACT", exact)
    assert found(you, "how do people log in?")[0] == "AUTH"
    assert found(you, "copies of our data in case of fire", mode="meaning")[0] == "BACKUP"
    assert len(found(you, "how do people log in?", mode="meaning", limit="4")) <= 4
    assert all(not id.startswith("S") for id in found(you, "log in with a password", limit="50"))


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
