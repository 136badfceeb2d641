"""Statements that say the same are recognised, and those that differ in what matters are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.reflect.wording import holds, says_same, wording

SAME = [
    ("Always run ruff before committing.", "From now on, run ruff before you commit."),
    ("We use pnpm in this repo, never npm.", "Please remember: we use pnpm in the repo, never npm!"),
    ("Retries are limited to 5 attempts.", "Retries are limited to 5 attempts per request."),
    ("部署之前务必先运行数据库迁移脚本。", "部署之前务必先运行数据库迁移脚本"),
]
DIFFERENT = [
    ("Retries are limited to 5 attempts.", "Retries are limited to 6 attempts."),
    ("We decided on Postgres over MySQL.", "We decided on MySQL over Postgres."),
    ("Commit the lock file.", "Never commit the lock file."),
    ("Use pnpm in the web repo.", "Use npm in the web repo."),
    ("Let's keep the legacy importer.", "Let's drop the legacy importer."),
    ("Call get_user_by_id for logins.", "Call get_user_by_name for logins."),
    ("Pin node 18.2 in CI.", "Pin node 18.3 in CI."),
    ("日期必须用 UTC 保存。", "日期不必用 UTC 保存。"),
]
_VOCABULARY = ("cache", "tenant", "key", "index", "lock", "retry", "5", "6", "never", "not", "use", "drop")
WORDS = st.lists(st.sampled_from(_VOCABULARY), max_size=8)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_another_introduction_or_ending_makes_no_difference(one: str, other: str) -> None:
    assert says_same(wording(one), wording(other))


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_number_name_version_order_or_negation_does(one: str, other: str) -> None:
    assert not says_same(wording(one), wording(other))


@given(WORDS, WORDS)
def test_saying_the_same_is_symmetric_and_needs_one_to_hold_the_other(one: list[str], other: list[str]) -> None:
    first, second = wording(" ".join(one)), wording(" ".join(other))
    assert says_same(first, second) == says_same(second, first)
    assert not says_same(first, second) or holds(first, second) or holds(second, first)
    assert not first.words or says_same(first, first)


@given(WORDS, WORDS, WORDS)
def test_what_holds_what_holds_a_third_holds_that(one: list[str], other: list[str], third: list[str]) -> None:
    first, second, last = (wording(" ".join(words)) for words in (one, other, third))
    if holds(first, second) and holds(second, last):
        assert holds(first, last)
