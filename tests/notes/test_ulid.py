from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anamnesis.notes import check_id, ulid

MILLISECONDS = st.integers(0, 2**48 - 1)
RANDOMNESS = st.integers(0, 2**80 - 1)


def test_the_example_of_the_ulid_specification() -> None:
    assert ulid(1469918176385, 0)[:10] == "01ARYZ6S41"


def test_the_greatest_ulid_is_the_specified_one() -> None:
    assert ulid(2**48 - 1, 2**80 - 1) == "7" + "Z" * 25


@given(MILLISECONDS, RANDOMNESS, MILLISECONDS, RANDOMNESS)
def test_ulids_sort_by_time_then_by_randomness(one: int, random: int, other: int, randomness: int) -> None:
    assert (ulid(one, random) < ulid(other, randomness)) == ((one, random) < (other, randomness))


@given(MILLISECONDS, RANDOMNESS)
def test_a_ulid_is_26_characters_of_crockfords_alphabet_and_a_valid_id(moment: int, random: int) -> None:
    made = check_id(ulid(moment, random))
    assert len(made) == 26
    assert set(made) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
