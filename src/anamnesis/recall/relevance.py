"""Whether a note is about a prompt, by the weight of the prompt's telling words that it holds. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from anamnesis.recall.query import telling_words

# Words of any request to a coding agent. They say what to do, but not what it is about.
_REQUEST = """
actually add added adding adds after again agree all already always another any anything app application approach ask
asked back bad before best better big bigger bit both break broken bug bugs build builds built call called case cases
change changed changes changing check checked clean cleaner clear code come comment comments commit commits condition
continue copy correct create created creates creating current currently debug delete deleted describe different
directory docs document done down each easier else end error errors even ever every everything example examples exist
existing explain extract fail failed failing fails fast faster feature features few file files find fine first fix
fixed fixes fixing folder follow following format found full function functions get gets getting give given go goes
going good got great handle handling happen happened happens hello help hey hi higher idea implement implementation
implemented implementing improve include input instead issue issues job keep kind know larger last later least less
let like line lines list little log long longer look looking looks lot lower made main make makes making many maybe
mean means message messages method methods mind missing module modules more most move much need needed needs never new
next nice nicer nothing now number off ok okay old once one only open other others out output over part piece place
plan point possible pr prefer problem problems proceed project properly pull push put question quick quickly read
readme ready real reason refactor refactoring remember remove removed removing rename renamed repo repository result
results return revert review right run running runs said same save say says section see seem seems send set setup
several short shorter show side simple simpler since slow slower small smaller solution some someone something sounds
start started step steps still stop stuff such support sure take task tell test tested testing tests thank thanks
thing things think three time times today todo together tomorrow tried try trying turn two type under undo until up
update updated updates updating use used user uses using value variable version wait want wants way ways well went
whole without word words work worked working works write writing written wrong yes yesterday yet
"""
_REQUEST_WORDS = frozenset(_REQUEST.split())
# Weights are computed as if there were this many more notes, of which a few hold each word. So in a memory of one note,
# a word that it holds weighs about as much as another one.
_OTHER_NOTES, _OTHERS_HOLDING = 1_000, 2
# From this many notes on, a word in half of all notes says nothing about one.
_MANY_NOTES = 5
# The number of most telling words that count, and the part of their weight that a note must hold.
_MOST_WORDS = 6
_SHARE = 0.48
# The least weight that it must hold, in weights of a word that no note holds; words of too many notes weigh less.
_LEAST = 0.75
# Only the beginning of a prompt is the query: pasted text after it is not.
LONGEST_QUERY = 2_000


def subject(prompt: str) -> str:
    """The words that say what a prompt is about; "" for most prompts, and for a command to the agent's program."""
    return "" if prompt.lstrip().startswith("/") else " ".join(filter(is_subject, telling_words(prompt)))


def is_subject(word: str) -> bool:
    """Whether a word, in lower case, can say what a prompt is about; a single letter or a small number cannot."""
    return word not in _REQUEST_WORDS and len(word) > (2 if word.isdecimal() else 1)


def says_something(notes: Mapping[str, int], total: int) -> bool:
    """Whether a prompt has a subject word that distinguishes notes; `notes` as for `is_about`."""
    return any(_weight(count, total) for word, count in notes.items() if is_subject(word))


def is_about(held: Collection[str], named: Collection[str], notes: Mapping[str, int], total: int) -> bool:
    """Whether a note is about a prompt.

    `held` are the prompt's telling words that the note holds, and `named` those in its title or tags; `notes` maps
    every telling word to the number of notes, of `total`, that hold it. A single word suffices only if it names the
    note.
    """
    weights = {word: _weight(count, total) for word, count in notes.items() if is_subject(word)}
    explained = sum(weights.get(word, 0.0) for word in held)
    asked = sum(sorted(weights.values())[-_MOST_WORDS:])
    is_more = len(held) > 1 or any(word in weights for word in named)
    return is_more and explained >= max(_SHARE * asked, _LEAST * _weight(0, total))


def _weight(notes: int, total: int) -> float:
    return 0.0 if notes >= _MANY_NOTES and 2 * notes >= total else rarity(notes, total)


def rarity(notes: int, total: int) -> float:
    """The rarity of a word that this many of `total` notes hold; always more than 0."""
    return math.log((total + _OTHER_NOTES) / (notes + _OTHERS_HOLDING))
