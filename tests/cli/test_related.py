"""`anamnesis related`, and the warning of a note that says the same."""

from __future__ import annotations

import pytest
from tests.cli.command import Command
from tests.cli.test_terminal import plain

from anamnesis.cli.output import resemblance
from anamnesis.store import MemoryStore


@pytest.fixture
def ids(anamnesis: Command) -> dict[str, str]:
    notes = {
        "Restart the pods": "kubectl rollout restart deployment web",
        "Pods hang": "kubectl rollout undo deployment web, then restart the pods",
        "Pancakes": "Two eggs, flour and milk.",
    }
    with MemoryStore(anamnesis.home) as store:
        written = {
            title: store.write(type="semantic", title=title, body=body, project="shop").id
            for title, body in notes.items()
        }
        store.embed()
    return written


def test_in_a_pipe_each_note_is_a_line_of_columns(anamnesis: Command, ids: dict[str, str]) -> None:
    (line,) = anamnesis("related", ids["Pods hang"]).out.splitlines()
    note, score, *rest = line.split("\t")
    assert (note, *rest) == (ids["Restart the pods"], "semantic", "shop", "Restart the pods")
    assert 0 < float(score) <= 1


def test_json_has_the_score_and_no_body(anamnesis: Command, ids: dict[str, str]) -> None:
    (note,) = anamnesis("related", "pods hang", "--json").json
    assert note["id"] == ids["Restart the pods"]
    assert "body" not in note
    assert 0 < note["score"] <= 1
    assert anamnesis("related", ids["Pancakes"], "--json").json == []
    assert anamnesis("related", "pods hang", "-k", "0", "--json").json == []


def test_on_a_terminal_the_rows_are_those_of_a_list_and_can_be_named(anamnesis: Command, ids: dict[str, str]) -> None:
    shown = plain(anamnesis.on_terminal("related", ids["Pods hang"][-8:])).split()
    assert shown == ["1", ids["Restart the pods"][-8:], "now", "shop", "Restart", "the", "pods"]
    assert "kubectl rollout restart" in plain(anamnesis.on_terminal("show", "@1"))


def test_a_sentence_says_that_no_note_is_related(anamnesis: Command, ids: dict[str, str]) -> None:
    sentence = f"No note is about the same as {ids['Pancakes']} (Pancakes).\n"
    done = anamnesis("related", "Pancakes")
    assert (done.code, done.out, done.err) == (0, "", sentence)
    assert plain(anamnesis.on_terminal("related", "Pancakes")).replace("\r", "") == sentence


def test_an_unknown_note_is_one_sentence(anamnesis: Command, ids: dict[str, str]) -> None:
    done = anamnesis("related", "nothing like it")
    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 1
    assert anamnesis("related", ids["Pancakes"], "-k", "many").code == 2


def test_without_a_daemon_a_write_names_only_exact_duplicates(anamnesis: Command, ids: dict[str, str]) -> None:
    """The model is not loaded for a write."""
    done = anamnesis("write", "RESTART the pods", "kubectl rollout restart deployment web", "-p", "shop")
    assert (done.code, done.err) == (0, "")


def test_the_line_names_each_note_that_says_nearly_the_same_once(store: MemoryStore) -> None:
    """Without the notes that another warning names."""
    same = "kubectl rollout restart deployment web"
    first, second = (store.write(type="semantic", title=title, body=same).id for title in ("Pods", "PODS\ttoo"))
    store.embed()
    note = store.write(type="semantic", title="pods", body=same)
    (line,) = resemblance(store, note)
    assert line.startswith("This resembles: ")
    assert sorted(line.removeprefix("This resembles: ").split("; ")) == sorted([f"{first} Pods", f"{second} PODS too"])
    assert list(resemblance(store, note, [first, second])) == []
