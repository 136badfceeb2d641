"""The spellings near a word: one letter too few, too many or wrong, or two letters swapped."""

from __future__ import annotations

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
# Shorter words are near to too many others, and longer ones have too many spellings.
_SHORTEST, _LONGEST = 3, 40


def near(word: str) -> set[str]:
    """The spellings near a word, in lower case; none for very short and very long ones."""
    word = word.lower()
    if not _SHORTEST <= len(word) <= _LONGEST:
        return set()
    letters = {*_LETTERS, *word}
    halves = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    fewer = {before + after[1:] for before, after in halves}
    swapped = {before + after[1] + after[0] + after[2:] for before, after in halves if len(after) > 1}
    other = {before + letter + after[1:] for before, after in halves if after for letter in letters}
    more = {before + letter + after for before, after in halves for letter in letters}
    return (fewer | swapped | other | more) - {word}
