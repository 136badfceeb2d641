"""`anamnesis search` on a terminal: weak notes, and why a note was found."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from tests.cli.command import Command
from tests.cli.test_terminal import plain


@pytest.fixture
def filled(anamnesis: Command) -> Command:
    anamnesis("write", "Restarting pods", "kubectl rollout restart deployment web")
    anamnesis("write", "Pancakes", "Two eggs, flour and milk for a large dinner.")
    return anamnesis


def test_a_search_that_finds_only_weak_notes_says_so_and_dims_them(filled: Command) -> None:
    query = "which restaurant did grandmother choose for her birthday dinner in Lisbon?"
    shown = filled.on_terminal("search", query)
    assert "Nothing clearly fits; the closest notes:" in shown
    assert "\x1b[2mPancakes" in shown
    assert "Nothing clearly fits" not in filled.on_terminal("search", "kubernetes")
    (hit,) = filled("search", query, "--json").json
    assert hit["weak"]
    assert hit["fit"] < 0.5
    assert filled("search", query).out.count("\t") == 4


@pytest.mark.parametrize("width", [120, 80, 60])
def test_the_reasons_fit_the_terminal(filled: Command, width: int) -> None:
    shown = plain(filled.on_terminal("search", "restart kubernetes", "--explain", COLUMNS=str(width)))
    assert all(cell_len(line) <= width for line in shown.splitlines())
    for told in ("meaning", "words", "█", "restart", "passage: Restarting pods kubectl", "probability of"):
        assert told in shown


def test_words_alone_are_explained_by_their_weights(filled: Command) -> None:
    (hit,) = filled("search", "restart", "--words", "--explain", "--json").json
    assert hit["fit"] is None
    assert hit["why"]["words"] == {"restart": pytest.approx(hit["score"], abs=1e-3)}
