"""The terms of a query: words, quoted phrases, and the function words among them; and the modes of ranking."""

from __future__ import annotations

from collections import Counter
from typing import Literal, NamedTuple, get_args

from anamnesis.light import lazy_pattern

# By words and meaning together, by words alone, or by meaning alone.
Mode = Literal["fused", "words", "meaning"]
MODES = get_args(Mode)
# Limits for a pasted document as a query: the number of different words, and how often a repeated word counts. No
# real question comes near to either.
MOST_WORDS = 1000
MOST_REPEATS = 8
# Articles, pronouns, auxiliaries, question words, prepositions, conjunctions, and the rests of contractions. They say
# how something is asked, not what. Words that are as often names or keywords (may, us, while, up, all) are not listed.
_WORDS = """
a an the this that these those
i me my we our ours you your yours he him his she her hers it its they them their theirs
am is are was were be been being do does did doing have has had having
can could will would shall should might must
how what when where which who whom whose why
about as at by for from in into of on onto to upon with within
and but or nor if than then so because whether though although
there here just also too very really please not no
s t ll ve don doesn didn isn aren wasn weren hasn haven hadn couldn shouldn wouldn
"""
_FUNCTION_WORDS = frozenset(_WORDS.split())
# A longer quotation is searched for by its words, not as a phrase.
_TERM = lazy_pattern(r'(?<!\w)"([^"\n]{0,300})"(?!\w)|\w+')
_WORD = lazy_pattern(r"\w+")


class QueryTerms(NamedTuple):
    """The terms of a query in order, with counts, and the function words around them, which only break ties."""

    terms: Counter[str]
    around: Counter[str]


def query_terms(query: str) -> QueryTerms:
    """The words and the quoted phrases of a query; a phrase is its words with single blanks.

    Function words are terms only if they are quoted, or if there is nothing else.
    """
    telling, around = Counter[str](), Counter[str]()
    for match in _TERM.finditer(query):
        quoted = match[1]
        term = match[0] if quoted is None else " ".join(_WORD.findall(quoted))
        counted = around if quoted is None and is_function_word(term) else telling
        if term and (len(counted) < MOST_WORDS or term in counted):
            counted[term] = min(counted[term] + 1, MOST_REPEATS)
    return QueryTerms(telling, around) if telling else QueryTerms(around, Counter())


def is_function_word(word: str) -> bool:
    return word.lower() in _FUNCTION_WORDS


def telling_words(text: str) -> list[str]:
    """The words that say what a text is about, each once. Unlike in a query, quotes have no meaning."""
    found = dict.fromkeys(map(str.lower, _WORD.findall(text)))
    return [word for word in found if word not in _FUNCTION_WORDS][:MOST_WORDS]
