"""The tokens of a text as they are compared: values, names, function words, ordinary words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from anamnesis.dream.grammar import (
    ABBREVIATIONS,
    ALWAYS_UNITS,
    ASKING,
    CAPITALS,
    CLASS_OF,
    DROPPED,
    FRAMES,
    MONTH_OF,
    NEGATIONS,
    NUMBER_OF,
    OPENERS,
    ORDINAL_OF,
    PHRASES,
    SITUATED,
    STAMPS,
    UNIT_OF,
    WEAK,
    WEEKDAYS,
)
from anamnesis.dream.thesaurus import bases, is_ordinary, reach, stem
from anamnesis.light import lazy_pattern

_MONTH = "|".join(sorted(MONTH_OF, key=lambda word: (-len(word), word)))
_DAY, _YEAR = "(?:3[01]|[12][0-9]|0?[1-9])", "(?:19|20)[0-9]{2}"
_TIME = r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?(?: ?[ap]m\b)?"
_DATE = lazy_pattern(
    rf"(?<![\w.:/-])(?:(?P<t0>{_TIME}),? (?:on )?)?(?:"
    rf"(?P<y1>{_YEAR})[-/.](?P<m1>1[0-2]|0?[1-9])(?:[-/.](?P<d1>{_DAY}))?"
    rf"|(?P<d2>{_DAY})[./](?P<m2>1[0-2]|0?[1-9])[./](?P<y2>{_YEAR})"
    rf"|(?P<d3>{_DAY})(?:st|nd|rd|th|\.)? (?:of )?(?P<m3>{_MONTH})\.?(?:,? (?P<y3>{_YEAR}))?"
    rf"|(?P<m4>{_MONTH})\.? (?P<d4>{_DAY})(?:st|nd|rd|th)?(?:,? (?P<y4>{_YEAR}))?"
    rf"|(?P<m5>{_MONTH})\.?,? (?P<y5>{_YEAR})"
    rf")(?:(?:T|,? (?:at )?)(?P<t9>{_TIME})Z?)?(?![\w-]|[./:][0-9])",
    re.IGNORECASE,
)
_DIGIT = lazy_pattern("[0-9]")
# Code in backticks, or any other text between blanks.
_CHUNK = lazy_pattern(r"`[^`\n]++`|[^\s`]++")
# Marks around a chunk; those at which a clause may end are boundaries.
_LEADING, _TRAILING = (
    "([{<\"'“”‘’«»*_,;:—–|…。，；：、！？（）「」.!?",
    ")]}>\"'“”‘’«»*_,;:—–|…。，；：、！？（）「」.!?",
)
_BOUNDARIES = frozenset("()[]{},;:—–|…。，；：、！？（）.!?-")
_NUMBER = lazy_pattern(r"([~≈]?)([-+]?)([$€£]?)([0-9]++(?:[.,:_][0-9]++)*+)[-]?([A-Za-zµ%°€$£]*+)")
_VERSION = lazy_pattern(r"[vV]\.?[0-9]++[\w.+-]*+|[0-9]++(?:\.[0-9]++){2,}+[\w.+-]*+|[0-9]++\.[0-9x]++[-a-z][\w.+-]*+")
_WORDS = lazy_pattern(r"[^\W\d_]++")
_COMPARISON = frozenset("<>=≤≥≠!→+")
_CONTRACTIONS = {"can": "can", "won": "will", "shan": "shall", "ain": "is"}
_PLACES = frozenset(("in", "at", "under"))
_LATIN = {"e.g": "like", "i.e": "like", "etc": "etc", "vs": "against"}
_LONGEST_PHRASE = max(map(len, PHRASES))
_PHRASE_STARTS = frozenset(phrase[0] for phrase in PHRASES)

DATE, WEEKDAY, NUMBER, UNIT, VERSION, PATH, COMMAND, NAME, NEGATION, WORD = (
    "date", "weekday", "number", "unit", "version", "path", "command", "name", "negation", "word"
)  # fmt: skip
VALUES = frozenset((NUMBER, UNIT, VERSION, PATH, COMMAND, NAME))


class Token(NamedTuple):
    """A word: its kind, its text, and a `key` that is equal for words with the same meaning.

    An `is_open` word can be replaced by a synonym. The absence of an `is_weak` word is no difference. A clause begins
    at a word that `starts`.
    """

    kind: str
    text: str
    key: str
    starts: bool = False
    is_open: bool = False
    is_weak: bool = False


class Day(NamedTuple):
    """A date; 0 for missing parts. `minute` is the minute of the day, from 1."""

    year: int
    month: int
    day: int
    minute: int

    def agrees(self, other: Day) -> bool:
        return all(one == another or not (one and another) for one, another in zip(self, other, strict=True))


def tokens_of(text: str, *, is_code: bool = False) -> list[Token]:
    """The words of a sentence or a line that count. Dates are among them: `day_of` reads their keys."""
    found: list[Token] = []
    if is_code:
        return [Token(COMMAND, chunk, chunk) for chunk in text.split()]
    last = 0
    starts = True
    for date in _DATE.finditer(text) if _DIGIT.search(text) else ():
        starts = _read(text[last : date.start()], found, starts)
        found.append(Token(DATE, date[0], _day_key(date), starts))
        starts, last = False, date.end()
    _read(text[last:], found, starts)
    telling = [*_meanings(found)]
    if all(token.is_weak or token.kind == NEGATION for token in telling):
        return found  # "I will not" has a meaning although none of its words has
    return telling


def day_of(token: Token) -> Day:
    return Day(*map(int, token.key.split("-")))


def _day_key(date: re.Match[str]) -> str:
    parts = {name[0]: value for name, value in date.groupdict().items() if value}
    month = parts["m"].lower()
    minute = _minute(parts["t"]) if "t" in parts else 0
    return f"{parts.get('y', 0)}-{MONTH_OF.get(month) or int(month)}-{parts.get('d', 0)}-{minute}"


def _minute(time: str) -> int:
    hour, minute = map(int, re.findall("[0-9]+", time)[:2])
    if half := time[-2:].lower() if time[-1] in "mM" else "":
        hour = hour % 12 + 12 * (half == "pm")
    return hour * 60 + minute + 1


def _read(text: str, found: list[Token], starts: bool) -> bool:
    """Append the raw tokens of a text; returns whether the next one begins a clause."""
    for match in _CHUNK.finditer(text):
        chunk = match[0]
        if chunk.isalpha() and chunk.isascii() and (lower := chunk.lower()) != "cannot":
            found.append(Token(WORD, chunk, lower, starts))
            starts = False
            continue
        if chunk[0] == "`" and len(chunk) > 1:
            for part in chunk.strip("`").split():
                found.append(Token(COMMAND, part, part, starts))
                starts = False
            continue
        core = chunk.lstrip(_LEADING)
        starts = starts or not _BOUNDARIES.isdisjoint(chunk[: len(chunk) - len(core)])
        core, before = core.rstrip(_TRAILING), core
        before = before[len(core) :]
        if not any(letter.isalnum() or letter in _COMPARISON for letter in core):
            starts = starts or core in ("-", "/")
        else:
            for token in _classified(core):
                found.append(Token(token.kind, token.text, token.key, starts))
                starts = False
        starts = starts or not _BOUNDARIES.isdisjoint(before)
    return starts


def _classified(core: str) -> Iterator[Token]:
    """The tokens of a chunk without the marks around it."""
    lower = core.lower()
    if lower == "cannot":
        yield from (Token(WORD, core[:3], "can"), Token(WORD, core[3:], "not"))
    elif core.isalpha() and core.isascii():
        yield Token(WORD, core, lower)
    elif lower in _LATIN:
        yield Token(WORD, core, _LATIN[lower])
    elif not _COMPARISON.isdisjoint(core) and not any(letter.isalnum() for letter in core):
        yield Token(COMMAND, core, core)
    elif "://" in core or "/" in core or "\\" in core:
        yield Token(PATH, core, core.rstrip("/"))
    elif core[0] == "-" and len(core) > 1 and (core[1] == "-" or core[1].isalpha()):
        yield Token(COMMAND, core, core)
    elif number := _NUMBER.fullmatch(core):
        yield from _quantity(core, number)
    elif _VERSION.fullmatch(core):
        yield Token(VERSION, core, lower.lstrip("v."))
    else:
        yield from _compound(core)


def _quantity(core: str, number: re.Match[str]) -> Iterator[Token]:
    approximate, sign, currency, digits, unit = number.groups()
    value = digits.replace("_", "")
    value = value.replace(",", "") if re.fullmatch(r"[0-9]{1,3}(?:,[0-9]{3})++(?:\.[0-9]++)?", value) else value
    if core.lower() in ORDINAL_OF:
        yield Token(NUMBER, core, ORDINAL_OF[core.lower()])
        return
    if unit and unit not in UNIT_OF and unit.lower() not in UNIT_OF:
        yield Token(NAME, core, core.lower())
        return
    if approximate:
        yield Token(WORD, approximate, "about")
    if value.count(".") > 1:
        yield Token(VERSION, digits, value)
    else:
        yield Token(NUMBER, digits, f"{'-' if sign == '-' else ''}{value}")
    for text in filter(None, (currency, unit)):
        yield Token(UNIT, text, UNIT_OF.get(text) or UNIT_OF[text.lower()])


def _compound(core: str) -> Iterator[Token]:
    """The tokens of a compound: identifiers stay whole; hyphenated words, contractions and ideographs are split."""
    if any(letter.isdigit() for letter in core) or any(mark in core for mark in "._@:=+#$%<>&^~"):
        yield Token(NAME, core, core)
        return
    if core.lower() in NUMBER_OF:
        yield Token(NUMBER, core, NUMBER_OF[core.lower()])
        return
    for part in re.split(r"[-—–,;/|()\"“”]++", core):
        head, apostrophe, tail = part.replace("’", "'").partition("'")
        if apostrophe and tail.lower() == "t" and head.lower().endswith("n"):
            word = head[:-1].lower()
            yield Token(WORD, head, _CONTRACTIONS.get(head.lower(), word))
            yield Token(WORD, "not", "not")
        elif part.isascii() or not any("\u3040" <= letter <= "\u9fff" or letter >= "\uac00" for letter in part):
            yield from (Token(WORD, word, word.casefold()) for word in _WORDS.findall(head))
            if apostrophe and len(tail) > 2:
                yield from (Token(WORD, word, word.casefold()) for word in _WORDS.findall(tail))
        else:
            yield from (Token(NAME, letter, letter) for letter in part if letter.isalnum())


def _meanings(found: list[Token]) -> Iterator[Token]:
    """The tokens without meaningless words; phrases and function words get the key of their class."""
    at = 0
    starts = False
    while at < len(found):
        token = found[at]
        starts = starts or token.starts
        if token.kind != WORD:
            yield token if token.starts == starts else token._replace(starts=starts)
            at, starts = at + 1, False
            continue
        size, word = _phrase(found, at) if token.key in _PHRASE_STARTS else (1, token.key)
        starts = starts or word in OPENERS
        is_after_number = bool(at) and found[at - 1].kind == NUMBER
        if token.text in CAPITALS:
            yield Token(NAME, token.text, token.text, starts)
            starts = False
        elif _is_place(found, at):
            pass
        elif _asks_when(found, at):
            yield Token(WORD, token.text, word, starts)
            starts = False
        elif word not in DROPPED or (is_after_number and word in UNIT_OF):
            yield _word(token, word, starts, is_after_number, is_first=at == 0 or token.starts)
            starts = False
        at += size


def _is_place(found: list[Token], at: int) -> bool:
    """Whether a verb only says that something is in a file, such as "lives in src/app.py"; it can be dropped."""
    if found[at].key not in SITUATED or at + 2 >= len(found):
        return False
    return found[at + 1].key in _PLACES and found[at + 2].kind in (PATH, COMMAND)


def _asks_when(found: list[Token], at: int) -> bool:
    """Whether this "when" asks for a time, such as in "find out when it ends"."""
    return found[at].key == "when" and any(token.key in ASKING for token in found[max(0, at - 2) : at])


def _phrase(found: list[Token], at: int) -> tuple[int, str]:
    """The length of the longest known phrase that begins here, and the word that replaces it."""
    words: list[str] = []
    for token in found[at : at + _LONGEST_PHRASE]:
        if token.kind != WORD or (words and token.starts):
            break
        words.append(token.key)
    for size in range(len(words), 1, -1):
        if word := PHRASES.get(tuple(words[:size])):
            return size, word
    return 1, found[at].key


def _word(token: Token, word: str, starts: bool, is_after_number: bool, *, is_first: bool) -> Token:
    if (is_after_number and word in UNIT_OF) or word in ALWAYS_UNITS:
        unit = UNIT_OF[word]
        return Token(WEEKDAY if unit in WEEKDAYS else UNIT, token.text, unit, starts)
    if word in NEGATIONS:
        return Token(NEGATION, token.text, CLASS_OF.get(word, word), starts)
    if word in CLASS_OF:
        return Token(WORD, token.text, CLASS_OF[word], starts, is_weak=word in WEAK or CLASS_OF[word] in WEAK)
    if word in ORDINAL_OF:
        return Token(NUMBER, token.text, ORDINAL_OF[word], starts)
    if word in NUMBER_OF and word != "one":
        return Token(NUMBER, token.text, NUMBER_OF[word], starts)
    is_capital = not token.text.islower() and (not is_first or not token.text.istitle())
    is_name = is_capital and word not in ABBREVIATIONS
    is_weak = word in WEAK
    return Token(NAME if is_name else WORD, token.text, word, starts, is_open=not is_name, is_weak=is_weak)


def is_of_stamp(token: Token) -> bool:
    """Whether a word may be part of a stamp, which says when something was noted."""
    if token.kind in (DATE, WEEKDAY) or token.is_weak or token.key in STAMPS:
        return True
    return token.is_open and not reach(token.key).isdisjoint(STAMPS)


def is_of_frame(token: Token) -> bool:
    """Whether a word may be part of a remark that something was noted before, or is still valid."""
    return token.is_weak or token.key in FRAMES or (token.is_open and not bases(token.key).isdisjoint(FRAMES))


def stands_for(token: Token) -> frozenset[str]:
    """The base forms of an open word, or the key of another one."""
    return bases(token.key) if token.is_open else frozenset((token.key,))


def can_be(token: Token) -> frozenset[str]:
    """The base forms of the words that can replace a word."""
    return reach(token.key) if token.is_open else stands_for(token)


def are_same(one: Token, other: Token) -> bool:
    """Whether a word can replace another one."""
    if one.kind == other.kind == DATE:
        return day_of(one).agrees(day_of(other))
    return not can_be(one).isdisjoint(stands_for(other))


def key_stem(token: Token) -> str:
    """The key by which sentences that may say the same are found."""
    return stem(token.key) if token.is_open else token.key


# The kinds, the most significant first.
_TELLING = (NEGATION, VERSION, PATH, COMMAND, NUMBER, UNIT, WEEKDAY, DATE, NAME, WORD)


def kind_of(tokens: Iterable[Token]) -> str:
    """The kind of a difference between these words."""
    kinds = [NAME if token.is_open and not is_ordinary(token.key) else token.kind for token in tokens]
    kind = min(kinds, key=_TELLING.index)
    return DATE if kind == WEEKDAY else kind


def texts(tokens: Iterable[Token]) -> str:
    return " ".join(token.text for token in tokens)
