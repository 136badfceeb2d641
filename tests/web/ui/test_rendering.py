"""The rendering of texts, versions and times in pages, without a daemon."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.web.ui.attacks import ATTACKS

from anamnesis.history.diffs import beside
from anamnesis.web.ui.differences import folded, marked
from anamnesis.web.ui.markdown import rendered
from anamnesis.web.ui.templating import local, since


def test_the_words_that_differ_between_two_lines_are_marked() -> None:
    left, right = marked("It lives for 60 minutes.", "It lives for 30 minutes.")
    assert (left, right) == ("It lives for <mark>60</mark> minutes.", "It lives for <mark>30</mark> minutes.")


def test_lines_with_little_in_common_are_not_marked() -> None:
    assert marked("one two three", "quite another line") == ("one two three", "quite another line")
    assert marked(None, "new") == ("", "new")


@pytest.mark.parametrize("text", ATTACKS[:60])
def test_lines_that_differ_are_escaped(text: str) -> None:
    for line in text.split("\n")[:3]:
        left, _ = marked(line, f"{line} more")
        assert "<" not in left.replace("<mark>", "").replace("</mark>", "")


def test_equal_lines_far_from_a_change_are_folded_and_none_is_lost() -> None:
    before = "\n".join(map(str, range(100)))
    rows = beside(before, before.replace("\n50\n", "\nfifty\n"))
    parts = [(len(part), hidden) for part, hidden in folded(rows) if part or hidden]
    assert parts == [(0, 47), (3, 0), (1, 0), (3, 0), (0, 46)]
    assert [*folded(beside("a\nb", "a\nc"))] == [([("a", "a", True)], 0), ([("b", "c", False)], 0)]


def test_a_link_without_a_host_is_not_rendered() -> None:
    for address in ("http:stats", "https:/stats", "http:///stats", "/stats", "//example.com", "ftp://example.com"):
        assert "href" not in rendered(f"[x]({address}) ![x]({address})"), address
    assert 'href="https://example.com/"' in rendered("[x](https://example.com/)")


def test_a_list_has_the_direction_of_its_letters() -> None:
    assert '<ul dir="auto">' in rendered("- \u05d0\u05d1")


def test_old_times_are_days_and_new_ones_are_ages() -> None:
    assert since("2020-01-02T03:04:05+00:00") == "on 2020-01-02"
    assert since((datetime.now(UTC) - timedelta(hours=2)).isoformat()) == "2 h ago"
    assert local("no time", "%H:%M") == "no time"
