"""`anamnesis reflect` as people and scripts call it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.cli.command import Command
from tests.reflect.model import Model
from tests.reflect.test_rules import LOCK, PNPM, stating
from tests.store.test_changeset import tree


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    yield made
    made.server.shutdown()
    made.server.server_close()


def with_episodes(anamnesis: Command) -> None:
    with anamnesis.store() as store:
        store.put_all([stating("Set up the frontend", PNPM), stating("Upgrade node", PNPM, day=2)])
        store.put(stating("Find the deadlock", LOCK, tags=["pinned"], project="jobs"))


def asking(model: Model) -> dict[str, str]:
    return {
        "ANAMNESIS_REFLECTION_PROVIDER": "openai",
        "ANAMNESIS_REFLECTION_MODEL": "small",
        "ANAMNESIS_REFLECTION_BASE_URL": model.url,
        "ANAMNESIS_REFLECTION_API_KEY": "key",
    }


def test_a_pipe_gets_a_line_for_each_note_and_each_proposal(anamnesis: Command) -> None:
    with_episodes(anamnesis)
    rehearsed = anamnesis("reflect", "--dry-run")
    done = anamnesis("reflect")
    assert rehearsed.out == done.out
    learned, review = (line.split("\t") for line in done.out.splitlines())
    assert (learned[0], learned[2], learned[4]) == ("learned", "0.85", "We use pnpm in this repo, never npm")
    assert len(learned[3].split()) == 2
    assert review[0] == "review"
    assert anamnesis("show", learned[1], "--json").json["prov_source"] == "reflection"
    assert anamnesis("review", "--json").json[0]["kind"] == "reflect"


def test_json_has_the_documented_shape_and_the_reflection_can_be_shown_and_undone(anamnesis: Command) -> None:
    with_episodes(anamnesis)
    with anamnesis.store() as store:
        before = tree(store)
    done = anamnesis("reflect", "--json").json
    assert [*done] == ["id", "way", "looked_at", "left", "seconds", "learned", "confirmed", "held", "review"]
    assert (done["way"], done["looked_at"], done["left"]) == ("rules", 3, 0)
    (learned,) = done["learned"]
    assert len(learned["sources"]) == 2
    assert [each["id"] for each in anamnesis("dream", "log", "--json").json] == [done["id"]]
    assert anamnesis("dream", "show", done["id"]).out.startswith(f"# Reflection {done['id']}\n")
    assert len(anamnesis("dream", "undo", done["id"], "--json").json["restored"]) == 3
    with anamnesis.store() as store:
        assert tree(store) == before
    assert "id" not in anamnesis("reflect", "--json").json


def test_a_terminal_shows_new_notes_with_their_episodes(anamnesis: Command) -> None:
    with_episodes(anamnesis)
    shown = anamnesis.on_terminal("reflect")
    assert "We use pnpm in this repo" in shown
    assert "Set up the frontend" in shown
    assert "Upgrade" in shown
    assert "Examined 3 unreflected episodes by rules. Wrote 1 new note from 2 episodes." in shown
    assert "anamnesis dream undo" in shown
    assert "anamnesis review" in shown


def test_only_the_project_is_reflected(anamnesis: Command) -> None:
    with_episodes(anamnesis)
    assert anamnesis("reflect", "--project", "jobs").out.startswith("review\t")
    assert anamnesis("reflect", "--project", "nothing").out == ""


def test_the_configured_model_is_asked_and_rules_only_on_request(anamnesis: Command, model: Model) -> None:
    with_episodes(anamnesis)
    note = {"title": "pnpm only", "body": "Install with pnpm.", "type": "procedural", "sources": [1]}
    model.answer = model.saying(json.dumps({"notes": [note]}))
    first = anamnesis("reflect", "--project", "shop", "--json", **asking(model)).json
    assert (first["way"], first["learned"][0]["prov_model"]) == ("small", "small")
    second = anamnesis("reflect", "--project", "shop", "--rules", "--json", **asking(model)).json
    assert second["way"] == "rules"
    assert len(model.asked) == 1


def test_a_failing_model_is_reported_in_one_sentence_and_nothing_is_changed(anamnesis: Command, model: Model) -> None:
    with_episodes(anamnesis)
    with anamnesis.store() as store:
        before = tree(store)
    model.status = 503
    done = anamnesis("reflect", **asking(model))
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "anamnesis: The model small answered with the status 503; nothing was changed."
        " `anamnesis reflect --rules` needs no model.\n"
    )
    with anamnesis.store() as store:
        assert tree(store) == before
