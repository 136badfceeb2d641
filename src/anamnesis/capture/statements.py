"""Finds the causes, decisions and rules that a session stated. Quotes whole sentences; pure and linear.

Precision goes before recall: a question, a guess or a report of work in progress is not a statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

from anamnesis.capture.cues import (
    CAUSE,
    COMMON,
    DECISION,
    HEDGES,
    LABELS,
    MODEL_PHRASES,
    NO_PLURALS,
    NO_RULE,
    PHRASES,
    PLURALS,
    RULE,
    USER_PHRASES,
    Phrases,
)
from anamnesis.capture.prose import Line, prose, sentences
from anamnesis.notes.redaction import redact

KINDS = (CAUSE, DECISION, RULE)
# A user's statement outweighs one of the model; one in the final answer weighs most.
_OF_USER, FINAL = 2, 3
_MOST_OF_A_KIND = 5
_MOST_UNDER_A_LABEL = 5
_SHORTEST, _LONGEST = 12, 400
_FEWEST_WORDS = 3
# A longer message of a user is mostly pasted: only its first and last paragraph are read.
_LONGEST_TYPED = 3_000
_LONGEST_LABEL = 60
_LABEL_WORDS = 5
_SUGGESTION = ("maybe", "perhaps")
_SUPPOSITION = ("if ", "let me")
_UNFINISHED = ("?", "？", '?"', "...", "…", ":", "：")
_ANY_WORD = ""
# Chinese, Japanese and Korean: words are not separated, or have endings.
_UNSPACED = "\u2e80"

_WORDS = re.compile(r"[\w']+|:")
_CODE = re.compile(r"`[^`]*+`")
_CLAUSE = re.compile(r"[,;:(]\s|\s[–—-]\s")
# In a model's sentence, the clause after a comma only describes: "it is renamed, never overwritten".
_MAIN_CLAUSE = re.compile(r"[;:]\s|\s[–—-]\s")
_CONNECTIVE = re.compile(r"^(?:(?:and|but|so|then|also|please|ok|okay|no|yes|just|now|und|aber|y|et|e|ma|pero)\s+)+")
# "always" and "never" make a rule in an imperative, and after these words; elsewhere they describe.
_ABSOLUTE = re.compile(
    r"(?:^|\b(?:please|should|must|shall|we|make sure to|make sure you|want you to|need to)\s)(?:always|never)\s(\S+)"
)
_MUST = re.compile(r"\b(\w+) must (not |never |always |only )?(\w+)(?: (\w+))?")
_FORBID = re.compile(r"^(?:please )?(?:don't|do not) (\w+)")
_CHOICE = re.compile(
    r"^(?:(?:i|we)(?:'ll|'ve| will| have| now)? )?(?:use|used|using|keep|kept|pick|picked|choose|chose|prefer|preferred"
    r"|switch|switched|replace|replaced|store|stored|build|built|write|wrote|make|made|go|went|move|moved|put|add|added"
    r"|do|did|take|took|run|ran)\b"
)
_INSTEAD = re.compile(r" (?:instead|rather than|in favou?r of)\b")
_OVER = re.compile(r"^(?:i|we) (?:chose|choose|prefer|preferred|picked|favour|favor)\b.* over ")
_BECAUSE = re.compile(r" (?:because|due to|caused by) ")
# "The root cause of the outage was ..." has words between its cue words.
_NAMED_CAUSE = re.compile(
    r"\b(?:cause|reason|culprit) (?:of|for|behind|why) (?:\S+ ){1,12}?(?:is|was|were|are)"
    r" (?!unclear|unknown|not |still )\S"
)
_TROUBLE = re.compile(
    r"\b(?:fail|crash|error|broke|break|slow|hang|hung|time[ds]? out|timeout|leak|flak|panic|exception|deadlock"
    r"|corrupt|regress|drop(?:s|ped)\b|empty|unreachable|refused|denied|duplicat"
    r"|stuck|outage|incident|bug|wrong|lost|froze|freez|stopped working|miss(?:es|ed)\b|stale)"
)
_NARRATION = re.compile(
    r"(?:now |next |first |then |so |okay |ok )*(?:let me|let's (?:look|see|check|find|start|try|go through)"
    r"|i'll |i will |i'm |i am |i need to |i want to |i still need |to find |looking |checking )"
)
_NOT_FOUND = re.compile(
    r"\b(?:not|never|haven't|hasn't|didn't|couldn't|cannot|can't|don't|won't|no)\b(?: \S+){0,6}"
    r" (?:cause|reason|culprit|fix)\b"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that states a cause, a decision or a rule, and its speaker."""

    kind: str
    text: str
    by_user: bool = False
    # The greater, the more telling.
    weight: int = 0


def statements_in(text: str, *, by_user: bool = False, weight: int = 0) -> list[Statement]:
    """The statements in a message, in their order. `weight` is that of the message."""
    if not _may_state(normal(text)):
        return []
    text = redact(text)  # before splitting: a sentence of a private block no longer looks private
    found: list[Statement] = []
    lines = prose(_typed_part(text) if by_user else text)
    labelled = _under_labels(lines)
    for number, line in enumerate(lines):
        if line.is_heading:
            continue
        for place, sentence in enumerate(sentences(line.text)):
            label = (labelled.get(number, "") if line.is_item or place == 0 else "") or _own_label(sentence)
            kind = _kind(sentence, label, by_user)
            if kind:
                found.append(Statement(kind, sentence, by_user, weight + _OF_USER * by_user + bool(label)))
    return found


def most_telling(messages: Iterable[list[Statement]]) -> list[Statement]:
    """The best few statements of each kind, without repetitions: the heaviest first, then the latest.

    Those of one message keep their order.
    """
    by_message = [statement for message in reversed([*messages]) for statement in message]
    ranked = sorted(by_message, key=lambda statement: statement.weight, reverse=True)
    kept: list[Statement] = []
    for kind in KINDS:
        seen: list[set[str]] = []
        for statement in ranked:
            if statement.kind != kind or len(seen) >= _MOST_OF_A_KIND:
                continue
            words = set(normal(statement.text).split())
            if not any(_is_same(words, other) for other in seen):
                seen.append(words)
                kept.append(statement)
    return kept


def unknown_to(statements: list[Statement], texts: Iterable[str]) -> list[Statement]:
    """The statements that no text contains."""
    known = [normal(text) for text in texts]
    return [each for each in statements if not any(normal(each.text) in text for text in known)]


def _typed_part(text: str) -> str:
    if len(text) <= _LONGEST_TYPED:
        return text
    first, _, rest = text.partition("\n\n")
    return "\n\n".join(part for part in (first, rest.rpartition("\n\n")[2]) if len(part) <= _LONGEST_TYPED)


def _under_labels(lines: list[Line]) -> dict[int, str]:
    """The kinds of the lines that follow a label: the items of a list, or the first line of a paragraph."""
    kinds: dict[int, str] = {}
    for number, line in enumerate(lines):
        opens = line.is_heading or (line.text.endswith((":", "：")) and not line.is_item)
        if opens and (kind := _label_kind(line.text)):
            following = range(number + 1, len(lines))
            items = list(takewhile(lambda each: lines[each].is_item, following))[:_MOST_UNDER_A_LABEL]
            paragraph = [each for each in following[:1] if line.is_heading and not lines[each].is_heading]
            kinds.update(dict.fromkeys(items or paragraph, kind))
    return kinds


def _label_kind(text: str) -> str:
    """The kind that a label announces: "Root cause", "Root cause of the misses", "Some ground rules:"."""
    if len(text) > _LONGEST_LABEL:
        return ""
    words = [word for word in normal(text).split() if word != ":"]
    for size in range(1, min(len(words), _LONGEST_LABEL_WORDS) + 1):
        kind = _LABEL_KINDS.get(" ".join(words[:size]), "")
        if kind and (len(words) == size or words[size] in ("of", "for", "in")):
            return kind
    endings = (" ".join(words[-size:]) for size in range(1, _LONGEST_LABEL_WORDS + 1))
    return (
        next((_LABEL_KINDS[each] for each in endings if each in _LABEL_KINDS), "") if len(words) <= _LABEL_WORDS else ""
    )


def _own_label(sentence: str) -> str:
    """The kind that a sentence gives itself: "Lesson: check the lag first"."""
    label, colon, _ = sentence.partition(": ")
    return _label_kind(label) if colon and len(label) <= _LONGEST_LABEL // 2 else ""


def _kind(sentence: str, label: str, by_user: bool) -> str:
    """The kind of statement that a sentence is; "" if it is none."""
    bare = _CODE.sub(" code ", sentence)
    text = normal(bare)
    if not (label or _may_state(text)) or not _is_whole(sentence, text):
        return ""
    parts = (_CLAUSE if by_user else _MAIN_CLAUSE).split(bare)
    clauses = [_CONNECTIVE.sub("", f"{normal(part)} ", 1).strip() for part in parts]
    stated = _stated(text, clauses, by_user)
    narrates = not by_user and bool(_NARRATION.match(text))
    guesses = any(hedge in f" {text} " for hedge in _HEDGES)
    if (RULE in stated or _is_rule(text, clauses, by_user)) and not narrates and not text.startswith(_SUGGESTION):
        return RULE
    if (DECISION in stated or _is_choice(text, clauses, by_user)) and not (guesses or text.startswith(_SUPPOSITION)):
        return DECISION
    if narrates or guesses or text.startswith(_SUPPOSITION) or _NOT_FOUND.search(text):
        return ""
    return CAUSE if CAUSE in stated or _is_reason(text) else label


def _is_whole(sentence: str, text: str) -> bool:
    """Whether a sentence is complete, of reasonable length, and not a question."""
    if len(sentence) > _LONGEST or sentence.endswith(_UNFINISHED) or "¿" in sentence:
        return False
    if not sentence.isascii():
        return len(sentence) >= _SHORTEST // 2
    return len(sentence) >= _SHORTEST and len(text.split()) >= _FEWEST_WORDS


def _stated(text: str, clauses: list[str], by_user: bool) -> set[str]:
    """The kinds whose cue phrases a sentence contains."""
    whole, starts = f" {text} ", [f" {clause} " for clause in clauses]
    words = set(text.split())
    cues = [cue for word in words & _BY_WORD.keys() for cue in _BY_WORD[word]]
    if not text.isascii():
        cues += _BY_WORD[_ANY_WORD]
    return {
        cue.kind
        for cue in cues
        if cue.by_user in (None, by_user)
        and (any(start.startswith(cue.text) for start in starts) if cue.at_start else cue.text in whole)
    }


def _is_reason(text: str) -> bool:
    """Whether a sentence says why something went wrong."""
    explains = _BECAUSE.search(text) and _TROUBLE.search(text) and not text.startswith(("i ", "we ", "because"))
    return bool(explains or _NAMED_CAUSE.search(text))


def _is_choice(text: str, clauses: list[str], by_user: bool) -> bool:
    """Whether a sentence prefers one thing to another."""
    own = [clause for clause in clauses if _CHOICE.match(clause) and (by_user or clause.startswith(("i ", "we ")))]
    return bool(own and _INSTEAD.search(text)) or any(_OVER.match(clause) for clause in clauses)


def _is_rule(text: str, clauses: list[str], by_user: bool) -> bool:
    """Whether a sentence demands or forbids."""
    for clause in clauses:
        absolute = _ABSOLUTE.search(clause)
        if absolute and (by_user or clause.startswith(("always", "never"))) and _makes_a_rule(absolute[1]):
            return True
        forbidden = _FORBID.match(clause)
        if forbidden and _makes_a_rule(forbidden[1]):
            return True
    must = _MUST.search(text)
    if not must or must[3] == "have" or (must[3] == "be" and must[4] in ("a", "an", "the", "some", "something")):
        return False
    subject = must[1]
    plural = subject in PLURALS or (subject.endswith("s") and subject not in NO_PLURALS)
    return (plural and by_user) or (bool(must[2]) and subject not in ("it", "there", "this"))


def _makes_a_rule(verb: str) -> bool:
    """Whether a verb after "always" may be an imperative: not third person, not past tense."""
    return verb not in NO_RULE and not verb.endswith("ed") and (not verb.endswith("s") or verb.endswith(("ss", "us")))


def _may_state(text: str) -> bool:
    """Whether a normalised text may contain a statement, by its words alone."""
    return not text.isascii() or not _TELLING.isdisjoint(text.split())


def normal(text: str) -> str:
    """A text in lower case, words and colons only, with single spaces."""
    return " ".join(_WORDS.findall(text.casefold().replace("’", "'").replace("`", " ")))


def _is_same(words: set[str], other: set[str]) -> bool:
    return 5 * len(words & other) >= 4 * min(len(words), len(other))


@dataclass(frozen=True, slots=True)
class _Cue:
    """A phrase as it is looked up in a normalised text. `by_user` is None if it does not matter who speaks."""

    kind: str
    text: str
    at_start: bool
    by_user: bool | None


def padded(phrase: str) -> str:
    """A phrase as whole words, except in scripts without spaces."""
    words = normal(phrase)
    return words if words[0] >= _UNSPACED else f" {words} "


def _index() -> dict[str, list[_Cue]]:
    """The cues by their rarest word, taken to be the longest one that is not common."""
    tables: list[tuple[Phrases, bool | None]] = [(table, None) for table in PHRASES.values()]
    by_word: dict[str, list[_Cue]] = {_ANY_WORD: []}
    for table, by_user in (*tables, (USER_PHRASES, True), (MODEL_PHRASES, False)):
        for kind, phrases in table.items():
            for phrase in phrases:
                cue = _Cue(kind, padded(phrase), phrase.startswith("^"), by_user)
                words = [word for word in cue.text.split() if word not in COMMON] or cue.text.split()
                word = max(words, key=len) if cue.text.startswith(" ") else _ANY_WORD
                by_word.setdefault(word, []).append(cue)
    return by_word


_BY_WORD = _index()
_LABEL_KINDS = {label: kind for kind, labels in LABELS.items() for label in labels}
_LONGEST_LABEL_WORDS = max(len(label.split()) for label in _LABEL_KINDS)
_HEDGES = tuple(map(padded, HEDGES))
# Every statement contains at least one of these words.
_TELLING = frozenset(
    (
        *("always", "never", "must", "don't", "not", "instead", "rather", "favour", "favor", "over", "because", "due"),
        *("caused", *_BY_WORD, *(label.split()[-1] for label in _LABEL_KINDS)),
    )
)
