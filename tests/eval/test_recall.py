"""Recall is measured on a real store with the real model, and each measure matches its definition."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.eval.own_notes import OWN

from anamnesis.errors import InvalidArgument
from anamnesis.eval import CaseResult, EvalCase, RecallReport, estimate_tokens, recall_at_k
from anamnesis.eval.intervals import compare, intervals, verdict
from anamnesis.eval.report import KS, measures, report_of
from anamnesis.store import MemoryStore


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MemoryStore, list[str]]]:
    """The forty notes, embedded once, and their ids."""
    with MemoryStore(tmp_path_factory.mktemp("own")) as store:
        ids = [store.write(type="semantic", title=each.title, body=each.body).id for each in OWN]
        store.embed()
        yield store, ids


def paraphrases(ids: list[str]) -> list[EvalCase]:
    return [EvalCase(each.question, [id], "paraphrase") for each, id in zip(OWN, ids, strict=True)]


def identifiers(ids: list[str]) -> list[EvalCase]:
    return [EvalCase(each.identifier, [id], "identifier") for each, id in zip(OWN, ids, strict=True) if each.identifier]


def test_the_default_report_has_the_specified_measures(own: tuple[MemoryStore, list[str]]) -> None:
    store, ids = own
    report = recall_at_k(store, paraphrases(ids)[:5])
    assert isinstance(report, RecallReport)
    assert (report.n_cases, [*report.recall_at]) == (5, [1, 3, 5, 8])
    assert 0 <= report.mrr <= 1
    assert all(0 <= share <= 1 for share in report.recall_at.values())


def test_words_and_meaning_find_paraphrases_that_words_miss(own: tuple[MemoryStore, list[str]]) -> None:
    store, ids = own
    words, fused = (recall_at_k(store, paraphrases(ids), KS, mode=mode) for mode in ("words", "fused"))
    assert fused.mrr > words.mrr
    differences = compare(words.outcomes, fused.outcomes)
    better = {each.measure for each in differences if not each.is_noise and each.interval.mean > 0}
    assert {"Recall@5", "MRR"} <= better
    assert verdict(differences, "words", "fused", 40).startswith("fused is better in ")


def test_words_and_meaning_find_what_has_a_name_as_well_as_words_alone(own: tuple[MemoryStore, list[str]]) -> None:
    store, ids = own
    words, fused = (recall_at_k(store, identifiers(ids), KS, mode=mode) for mode in ("words", "fused"))
    assert fused.recall_at[3] >= words.recall_at[3]
    worse = [each.measure for each in compare(words.outcomes, fused.outcomes)[:6] if each.interval.high < 0]
    assert worse == []


def test_notes_that_are_not_embedded_yet_are_embedded_first(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        id = store.write(type="semantic", title="Restarting pods", body="kubectl rollout restart").id
        store.write(type="semantic", title="Pancakes", body="Two eggs, flour and milk.")
        assert recall_at_k(store, [EvalCase("kubernetes", [id])], (1,)).recall_at == {1: 1.0}
        assert store.embed() == 0


def test_no_cases_are_a_report_without_findings(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        report = recall_at_k(store, [])
    assert (report.n_cases, report.recall_at, report.mrr) == (0, {1: 0.0, 3: 0.0, 5: 0.0, 8: 0.0}, 0.0)


def outcome(ranks: list[int], relevant: int = 1, kind: str = "", query: str = "q") -> CaseResult:
    return CaseResult(query, kind, relevant, ranks, 8, 100, 1.0)


def test_measures_are_averages_over_cases() -> None:
    report = report_of([outcome([1, 4], relevant=2), outcome([9]), outcome([])], (1, 5, 10))
    assert report.recall_at == pytest.approx({1: 0.5 / 3, 5: 1 / 3, 10: 2 / 3})
    assert report.hit_at == pytest.approx({1: 1 / 3, 5: 1 / 3, 10: 2 / 3})
    assert report.mrr == pytest.approx((1 + 1 / 9) / 3)
    assert report.precision == pytest.approx((2 / 8) / 3)


def test_a_note_beyond_what_a_search_shows_still_has_a_rank(tmp_path: Path) -> None:
    """The mean reciprocal rank does not depend on how many hits are counted for recall."""
    with MemoryStore(tmp_path) as store:
        ids = [store.write(type="semantic", title=f"Note {n}", body="lighthouse " * (20 - n)).id for n in range(20)]
        found = [note.id for note in store.search("lighthouse", k=20, mode="words")]
        assert sorted(found) == sorted(ids)
        (only,) = recall_at_k(store, [EvalCase("lighthouse", [found[14]])], (1, 3), mode="words").outcomes
    assert (only.ranks, only.shown) == ([15], 8)
    assert only.tokens > 0
    assert only.milliseconds > 0


def test_kinds_are_reported_separately_where_there_are_several() -> None:
    report = report_of([outcome([1], kind="a"), outcome([], kind="b"), outcome([2], kind="a")])
    assert {kind: (each.n_cases, each.mrr) for kind, each in report.kinds.items()} == {"a": (2, 0.75), "b": (1, 0.0)}
    assert report_of([outcome([1], kind="a")]).kinds == {}


def test_tokens_are_a_quarter_of_the_characters() -> None:
    assert [estimate_tokens("x" * length) for length in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_an_interval_contains_its_average_and_shrinks_with_more_cases() -> None:
    some = [outcome([1]) if number % 3 else outcome([]) for number in range(30)]
    few, many = intervals(some)["MRR"], intervals(some * 16)["MRR"]
    assert few.low < few.mean < few.high
    assert few.mean == pytest.approx(many.mean)
    assert (many.high - many.low) == pytest.approx((few.high - few.low) / 4, rel=0.2)
    assert intervals(some) == intervals(some)


def test_an_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Of samples from a population with a known average, about 95 % have an interval around it."""
    chance = random.Random(1)
    held = 0
    for _ in range(40):
        sample = [outcome([1] if chance.random() < 0.6 else []) for _ in range(80)]
        interval = intervals(sample, (1,))["MRR"]
        held += interval.low <= 0.6 <= interval.high
    assert held >= 34


def test_a_difference_is_judged_case_by_case() -> None:
    """A ranking that is slightly better for many cases stands out from noise in which two averages would drown."""
    chance = random.Random(2)
    a = [outcome([chance.choice([2, 5, 10])], query=str(number)) for number in range(200)]
    b = [outcome([each.ranks[0] - (number % 4 == 0)], query=each.query) for number, each in enumerate(a)]
    mrr = next(each for each in compare(a, b) if each.measure == "MRR")
    apart = intervals(a)["MRR"], intervals(b)["MRR"]
    assert apart[0].high > apart[1].low
    assert not mrr.is_noise
    assert mrr.interval.mean == pytest.approx(mrr.b - mrr.a)


def test_equal_rankings_differ_by_nothing() -> None:
    same = [outcome([1], query=str(number)) for number in range(20)]
    differences = compare(same, same)
    assert all(each.is_noise for each in differences)
    assert verdict(differences, "a", "b", 20) == "The difference between a and b is no more than noise."


def test_a_few_cases_tell_nothing() -> None:
    a, b = ([outcome([rank], query=str(number)) for number in range(3)] for rank in (2, 1))
    assert verdict(compare(a, b), "a", "b", 3) == "3 cases are too few to tell b from a; at least 10 are needed."


def test_better_and_worse_are_both_said() -> None:
    a = [outcome([2, 3], relevant=2, query=str(number)) for number in range(30)]
    b = [outcome([1, 9], relevant=2, query=str(number)) for number in range(30)]
    sentence = verdict(compare(a, b, (1, 5)), "a", "b", 30)
    assert sentence == "b is better in Recall@1 and MRR and worse in Recall@5 and Precision than a, by more than noise."


def test_only_the_same_cases_are_compared() -> None:
    with pytest.raises(InvalidArgument, match="not about the same cases"):
        compare([outcome([1], query="x")], [outcome([1], query="y")])


def test_every_measure_has_a_name_and_an_interval() -> None:
    assert [*intervals([outcome([1])])] == [*measures()]
