"""Contrasts between two sentences about the same thing: another value in one place, or a negation. Pure.

Precision goes before recall. The difference has to be a value, not the subject: it follows a verb that gives one thing
one value, and no other verb follows. Two hosts, two people or two environments differ in the subject.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from anamnesis.light import lazy_pattern

_LONGEST_VALUE = 4
_DIGITS = tuple("0123456789")
_OPENING, _CLOSING = "([{<\"'“”‘’*_", ")]}>\"'“”‘’*_.!?…"
_PAUSES = (",", ";", "–", "—")
_ASSIGNED = lazy_pattern(r"(\w[\w.-]*+)=(\S++)")
_REFERENCE = lazy_pattern(r"#\d++|[A-Z]{2,}-\d++")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_IS = _words("is are = :")
_AUXILIARIES = _words("is are was were be been has have had do does did will would can could should must may might")
# Verbs that give one thing one value, in the forms of a statement and of an imperative.
_HOLDS = _words(
    "listen listens run runs live lives defaults point points expire expires retry retries take takes last lasts"
    " cost costs start starts end ends begin begins wait waits bind binds connect connects serve serves return"
    " returns deploy deploys host hosts build builds format formats write writes store stores keep keeps log logs"
    " save saves send sends target targets expose exposes map maps resolve resolves mount mounts install installs"
    " publish publishes work works belong belongs equal equals allow allows lag lags cache caches poll polls"
    " rotate rotates sync syncs read reads load loads stay stays need needs require requires pin pins go goes has"
    " have lint lints"
    " indent indents compile compiles bundle bundles monitor monitors track tracks"
)
# Verbs that can have many objects: two objects exclude each other only if they are numbers or have the same purpose.
_MANY = _words(
    "use uses prefer prefers choose chooses support supports accept accepts include includes contain contains"
    " handle handles know knows like likes love loves speak speaks offer offers provide provides import imports"
    " hold holds want wants recommend recommends enjoy enjoys own owns cover covers"
)
_CHOICES = _words("use uses prefer prefers choose chooses recommend recommends")
_PURPOSES = _words("for as to when instead")
_VERBS = _IS | _HOLDS | _MANY | _AUXILIARIES
# Numbers after these words, and these words themselves, name a thing.
_NUMBERED = _words(
    "issue ticket bug pr request step page chapter section line item day week month sprint part phase case figure"
    " table question task shard node worker server host instance replica machine room player user pair test"
    " milestone episode session note round run attempt example option appendix lesson unit commit"
)
_PLACES = _words(
    "staging production prod dev development test tests testing qa local localhost ci canary preview sandbox"
    " linux macos windows android ios mac desktop laptop laptops monday tuesday wednesday thursday friday saturday"
    " sunday january february march april june july august september october november december"
)
_FREE = _words("the now currently already still please just again today nowadays our its then")
_ADDING = _words(
    "also too additionally both either another other second third extra additional further secondary backup"
)
_ASKING = _words("what how why when where who which whether if")
_ARTICLES = _words("a an")
_STOPS = (
    _AUXILIARIES | _FREE | _ARTICLES | _IS
    | _words("it this that they he she we you i there in on at of to for from by with as and or not no into than per")
)  # fmt: skip
_PRONOUNS = _words("it this that they he she there these those")
_CLAUSES = _words("because since so which although whereas while instead")
_OPENERS = _words("since because after as")
_COORDINATORS = _words("and but or that which , ; – — because since so")
_NEGATIONS = _words("not never no cannot without avoid avoids neither none nothing")
_POLARITY = _NEGATIONS | _words("always do does did must should shall need needs please can may will")
# Attributes of which a thing has one; the value can be an ordinary word.
_FUNCTIONS = _words(
    "default branch name language format zone timezone theme engine manager driver owner primary main region"
    " backend license shell editor encoding strategy mode level style indent policy tool runner framework library"
    " registry scheduler orm database queue broker cache provider port host url path limit timeout interval"
    " version image chat tracker platform protocol algorithm compiler linter formatter font color colour currency"
    " prefix suffix separator lead maintainer contact reviewer deadline schedule frequency unit key role server"
    " directory folder file endpoint"
)
_OPPOSITES = frozenset(
    frozenset(pair.split("/"))
    for pair in _words(
        "enabled/disabled on/off allowed/forbidden allowed/prohibited required/optional true/false yes/no"
        " public/private synchronous/asynchronous safe/unsafe supported/unsupported open/closed"
        " mandatory/optional allowed/disallowed sync/async mutable/immutable encrypted/unencrypted"
        " visible/hidden active/inactive stateless/stateful case-sensitive/case-insensitive"
        " permanent/temporary automatic/manual automatically/manually"
    )
)
_NUMBER, _PATH, _NAME, _WORD = "number", "path", "name", "word"
_SWAPS = _words("over instead rather before after")
# The confidence that two values exclude each other.
_CERTAIN, _LIKELY, _PROBABLE = 0.92, 0.88, 0.85


class Word(NamedTuple):
    """A word as it is written, and its key for comparisons."""

    text: str
    key: str
    is_code: bool = False


class Contrast(NamedTuple):
    """What two sentences say about the same thing, and the confidence that they exclude each other, `sure`.

    `one` and `other` are the values, or the sentences if one negates the other.
    """

    one: str
    other: str
    sure: float
    is_negation: bool = False
    # Whether the sentences name their subject.
    names_subject: bool = True
    # The reasons and remarks in both, outside of the main clauses.
    aside: str = ""


def words_of(sentence: str) -> list[Word]:
    """The words of a sentence; pauses, colons and signs of equality are words too."""
    found: list[Word] = []
    in_code = False
    for chunk in sentence.replace("’", "'").split():
        was_code, in_code = in_code, in_code != (chunk.count("`") % 2 == 1)
        core = chunk.replace("`", "").lstrip(_OPENING)
        bare = core.rstrip(_CLOSING + ",;:")
        if assigned := _ASSIGNED.fullmatch(bare):
            found += [Word(assigned[1], assigned[1].lower()), Word("=", "="), Word(assigned[2], assigned[2].lower())]
        elif "`" in chunk or was_code:
            found.append(Word(bare, bare.lower(), is_code=True))
        elif bare:
            found += _uncontracted(bare)
        elif core in ("=", ":", "–", "—"):
            found.append(Word(core, core))
        if tail := [mark for mark in core[len(bare) :] if mark in ":,;"]:
            found.append(Word(tail[0], tail[0]))
    while found and found[-1].key in (":", *_PAUSES):
        found.pop()
    return [word for word in found if word.key not in _FREE]


def contrast(one: Sequence[Word], other: Sequence[Word]) -> Contrast | None:
    """How two sentences exclude each other; None if they do not, or if that is not evident."""
    keys = {word.key for word in (*one, *other)}
    if keys & _ADDING or any(each and each[0].key in _ASKING for each in (one, other)):
        return None
    first, second = _head(one), _head(other)
    found = _negated(first, second) or _swapped(first, second) or _replaced(first, second)
    aside = " ".join(word.text for all, head in ((one, first), (other, second)) for word in all if word not in head)
    return found and found._replace(aside=aside)


def content_words(words: Sequence[Word]) -> set[str]:
    """The stems of the words that say what a sentence is about."""
    return {_stem(word.key) for word in words if word.key not in _STOPS and word.key not in _PAUSES}


def has_verb(words: Sequence[Word]) -> bool:
    return any(word.key in _VERBS for word in words)


def places_in(words: Sequence[Word]) -> set[str]:
    """The environments, systems, days and months that a text names."""
    return {word.key for word in words} & _PLACES


def _uncontracted(text: str) -> list[Word]:
    lower = text.lower()
    if lower == "cannot":
        return [Word("can", "can"), Word("not", "not")]
    if lower.endswith("n't"):
        verb = {"can't": "can", "won't": "will"}.get(lower, lower[:-3])
        return [Word(verb, verb), Word("not", "not")]
    return [Word(text, lower)]


def _head(words: Sequence[Word]) -> list[Word]:
    """The main clause, without the reasons and remarks before and after it."""
    if words and words[0].key in _OPENERS:
        comma = next((place for place, word in enumerate(words) if word.key == ","), -1)
        words = words[comma + 1 :]
    has_verb = False
    for place, word in enumerate(words):
        if has_verb and (word.key in _PAUSES or word.key in _CLAUSES):
            return [*words[:place]]
        has_verb = has_verb or word.key in _VERBS or place == len(words) - 1
    return [*words]


def _negated(one: Sequence[Word], other: Sequence[Word]) -> Contrast | None:
    denied = [sum(word.key in _NEGATIONS for word in each) % 2 == 1 for each in (one, other)]
    if denied[0] == denied[1]:
        return None
    left = [[_stem(key) for key in _denied(each) if key not in _POLARITY | _ARTICLES] for each in (one, other)]
    negative, positive = left if denied[0] else left[::-1]
    about = [key for key in negative if key not in _STOPS]
    is_same = negative == positive
    is_part = len(about) > 1 and len(negative) > 2 and positive[: len(negative)] == negative
    if not about or not (is_same or is_part):
        return None
    sure = (_CERTAIN if len(about) > 1 else _PROBABLE) if is_same else 0.82
    names = negative[0] not in _PRONOUNS
    return Contrast(_text(one), _text(other), sure, is_negation=True, names_subject=names)


def _denied(words: Sequence[Word]) -> list[str]:
    """The keys of a sentence, with "avoid X" written as "avoid use X"."""
    keys = [word.key for word in words]
    for place in reversed(range(len(keys) - 1)):
        if keys[place] == "avoid" and not keys[place + 1].endswith("ing"):
            keys.insert(place + 1, "use")
    return keys


def _swapped(one: Sequence[Word], other: Sequence[Word]) -> Contrast | None:
    """`Prefer A over B` and `prefer B over A`."""
    if len(one) != len(other):
        return None
    places = [place for place, (a, b) in enumerate(zip(one, other, strict=True)) if a.key != b.key]
    if len(places) != 2:
        return None
    first, last = places
    is_swapped = (one[first].key, one[last].key) == (other[last].key, other[first].key)
    if not is_swapped or not _SWAPS & {word.key for word in one[first:last]}:
        return None
    return Contrast(_text(one), _text(other), _LIKELY, is_negation=True)


def _replaced(one: Sequence[Word], other: Sequence[Word]) -> Contrast | None:
    """Another value in one place."""
    shorter = min(len(one), len(other))
    start = next((at for at in range(shorter) if one[at].key != other[at].key), shorter)
    most = shorter - start
    same = next((at for at in range(most) if one[-1 - at].key != other[-1 - at].key), most)
    values = one[start : len(one) - same], other[start : len(other) - same]
    if not all(0 < len(value) <= _LONGEST_VALUE for value in values):
        return None
    before, after = one[:start], one[len(one) - same :] if same else []
    sure = _exclusive(before, values[0], values[1], after)
    names = (
        bool(content_words(before) - _VERBS or content_words(after)) and before[0].key not in _PRONOUNS
        if before
        else False
    )
    return Contrast(_text(values[0]), _text(values[1]), sure, names_subject=names) if sure else None


def _exclusive(before: Sequence[Word], one: Sequence[Word], other: Sequence[Word], after: Sequence[Word]) -> float:
    """The confidence that a thing has only one of two values in this place."""
    keys = [word.key for word in before]
    verb = next((key for key in reversed(keys) if key in _IS | _HOLDS | _MANY), None)
    rest = [word.key for word in after]
    clause = rest[: next((at for at, key in enumerate(rest) if key in _COORDINATORS), len(rest))]
    values = {word.key for word in (*one, *other)}
    is_choice = verb in _CHOICES and bool(clause) and clause[0] in _PURPOSES
    if verb is None or (values if is_choice else {*clause} | values) & _VERBS or values & (_PLACES | _POLARITY):
        return 0.0
    if verb == ":" and not _is_setting(keys, one, other, after):
        return 0.0
    if (
        (keys[-1] in _NUMBERED and before[-1].text != "Node")
        or keys[-1] in _ARTICLES
        or one[0].key in _ARTICLES
        or other[0].key in _ARTICLES
    ):
        return 0.0
    if any(_REFERENCE.fullmatch(word.text) for word in (*one, *other)):
        return 0.0
    if frozenset((one[-1].key, other[-1].key)) in _OPPOSITES and len(one) == len(other) == 1:
        return _LIKELY if verb in _IS else 0.0
    kinds = {_kind(one, len(before)), _kind(other, len(before))}
    if verb in _MANY:
        return _of_many(verb, kinds, clause)
    if kinds == {_NUMBER} or kinds == {_PATH}:
        return _CERTAIN
    if _WORD not in kinds:
        return _of_names(keys, verb, kinds)
    is_function = verb in _IS and not _FUNCTIONS.isdisjoint(keys[: keys.index(verb)])
    return _PROBABLE if is_function and len(one) == len(other) == 1 and not after else 0.0


def _is_setting(keys: Sequence[str], one: Sequence[Word], other: Sequence[Word], after: Sequence[Word]) -> bool:
    """Whether the text before a colon is a setting with one value, and not a speaker or a topic."""
    name = keys[: keys.index(":")]
    has_unit = len(after) <= _LONGEST_VALUE and all(_kind(value, len(keys)) == _NUMBER for value in (one, other))
    is_function = bool(_FUNCTIONS.intersection(name)) or any("_" in key for key in name)
    return keys[-1] == ":" and len(name) <= _LONGEST_VALUE and (has_unit or (is_function and not after))


def _of_many(verb: str, kinds: Collection[str], clause: Sequence[str]) -> float:
    """Verbs with many objects: a number of something, or a choice for the same purpose."""
    if verb in _CHOICES:
        has_purpose = bool(clause) and clause[0] in _PURPOSES and bool({*clause} - _STOPS)
        return _LIKELY if has_purpose or kinds == {_NUMBER} else 0.0
    return _PROBABLE if kinds == {_NUMBER} and clause else 0.0


def _of_names(keys: Sequence[str], verb: str, kinds: Collection[str]) -> float:
    is_command = verb not in _IS and keys[0] == verb
    if is_command and keys[-1] == verb:  # `run this`, `install that`: one does both
        return 0.0
    return _LIKELY if len(kinds) == 1 else _PROBABLE


def _kind(value: Sequence[Word], place: int) -> str:
    texts = [word.text for word in value]
    if any("/" in text or "\\" in text or text.startswith("~") for text in texts):
        return _PATH
    if any(text.lstrip("vV$€£+-~<>=").startswith(_DIGITS) for text in texts):
        return _NUMBER
    is_name = place > 0 and any(not text.islower() or not text.isalpha() for text in texts)  # also one with a digit
    return _NAME if is_name or any(word.is_code for word in value) else _WORD


def _stem(key: str) -> str:
    for ending in ("ing", "ed", "es", "s", "e"):
        if key.endswith(ending) and len(key) - len(ending) > 2 and key.isalpha():
            return key[: -len(ending)]
    return key


def _text(words: Sequence[Word]) -> str:
    return " ".join(word.text for word in words)
