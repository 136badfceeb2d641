"""Builds src/anamnesis/dream/data/thesaurus.txt: pairs of English synonyms, and irregular forms.

    python -m tools.thesaurus WORDNET EXCEPTIONS MOBY

WORDNET is the folder of WordNet 3.1's database files, EXCEPTIONS that of its *.exc files, MOBY the file of the Moby
Thesaurus (words.txt). Each thesaurus alone is too loose: Moby lists antonyms and siblings (daughter for son), WordNet
every rare sense. A pair is kept if both agree, no relation of WordNet makes the words opposites or siblings, and the
embedding model finds them close. Nouns for things that share no sense are siblings.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations, permutations
from pathlib import Path

from anamnesis.meaning.model import load

_PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
_OF_KEY = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
_OUT = Path(__file__).parents[1] / "src/anamnesis/dream/data/thesaurus.txt"
# The minimum cosines of words that share a sense, words that both thesauri relate, nouns, and adjectives that only one
# thesaurus relates.
_SAME, _RELATED, _NOUNS, _ADJECTIVES = 0.6, 0.66, 0.7, 0.85
# WordNet's files of animals, artifacts, bodies, food, places, objects, persons, plants, substances and times.
_THINGS = ("05", "06", "08", "13", "15", "17", "18", "20", "27", "28")
# Later senses are rare.
_MOST_SENSES = 5
# Synonyms in computing, abbreviations and adverbs that the thesauri lack.
_COMPUTING = """
folder directory dir; repo repository; config configuration settings; app application; docs documentation; param
parameter; arg argument; env environment; var variable; func function; db database datastore; auth authentication;
admin administrator; info information; spec specification; msg message; enable activate turn_on switch_on; disable
deactivate turn_off switch_off; log_in login sign_in; set_up setup configure; deprecated obsolete outdated stale;
deploy roll_out ship release; release publish; abort cancel terminate; compile build; fetch retrieve get obtain;
delete remove erase; run execute; update refresh; persist store save; pic picture photo image; tmp temp temporary;
prod production; dev developer; dev development; developer engineer programmer; perf performance; ref reference;
dependency dep; presently now currently at_present; usually typically normally generally; several multiple;
occasionally sometimes; often frequently regularly; rarely seldom; add insert append; set configure; wipe clear erase;
cause trigger; watch monitor observe; optimize optimise; utilize utilise use; ensure make_sure; delay postpone defer;
replace swap substitute; setting option preference; machine computer host; size dimension; reduce shrink decrease
lower; return yield; deliver ship; parse analyze analyse; compute calculate determine; handle process deal_with; drop
discard; ignore skip disregard; huge big large; crash fail; hang freeze; bug defect fault; error failure; validate
verify check; start begin commence initiate launch; startup start; finish end complete conclude; ticket issue;
permission privilege; max maximum; min minimum; average mean; row record; field attribute property; string text; int
integer; bool boolean; char character; site website; mail email; customer client; teammate colleague coworker; buy
purchase; immediately instantly at_once right_away promptly; automatically; manually by_hand; mostly mainly primarily
largely; completely entirely fully totally wholly; nearly almost; maybe perhaps possibly; version release; alert
notification; same identical; enough sufficient; because since; approximately roughly; show display; need require;
limit cap; hold contain; keep store; reachable accessible; doc document; gonna going; wanna want; pr pull_request; os
operating_system; deploy deployment; fix correct repair
"""
# Words that differ in computing, or that the thesauri wrongly treat as synonyms.
_APART = """
main master; average median; mean median; heap stack; get post put; count sum; line row; letter word; chapter page;
gold silver; hostel hotel; actor actress; learn teach; pause stop; defeat win; site page; error warning; fetch pull;
commit push; clone copy fork; branch fork; patch release; cache store; argument variable; client user; host server;
memory storage; disk memory; text word; package bundle module; import load; close stop; lock seal; like want
"""
Sense = tuple[str, str]


class WordNet:
    """The synsets, and their relations."""

    def __init__(self, folder: Path) -> None:
        self.words: dict[Sense, list[str]] = {}
        self.above: dict[Sense, set[Sense]] = defaultdict(set)
        self.similar: dict[Sense, set[Sense]] = defaultdict(set)
        self.senses: dict[str, set[Sense]] = defaultdict(set)
        self.rank: dict[tuple[str, Sense], int] = {}
        self.common: set[str] = set()
        self.file: dict[Sense, str] = {}
        self.times: dict[str, Counter[str]] = defaultdict(Counter)
        opposites: list[tuple[str, Sense, int]] = []
        for name, part in _PARTS.items():
            for line in (folder / f"data.{name}").read_text("utf-8").splitlines():
                if not line.startswith("  "):
                    self._read(part, line.split("|")[0].split(), opposites)
        self.opposites = {frozenset((word, self.words[to][number].lower())) for word, to, number in opposites}
        for line in (folder / "index.sense").read_text("utf-8").splitlines():
            key, offset, number, times = line.split()
            word, rest = key.split("%")
            self.times[word][_OF_KEY[rest[0]]] += int(times)
            if times != "0":
                self.common.add(word)
            self.rank[word, (_OF_KEY[rest[0]], offset)] = int(number)

    def _read(self, part: str, fields: list[str], opposites: list[tuple[str, Sense, int]]) -> None:
        sense, count = (part, fields[0]), int(fields[3], 16)
        self.file[sense] = fields[1]
        words = self.words[sense] = [re.sub(r"\(.*\)", "", fields[4 + 2 * each]) for each in range(count)]
        for word in words:
            self.senses[word.lower()].add(sense)
        start = 5 + 2 * count
        for at in range(start, start + 4 * int(fields[start - 1]), 4):
            kind, offset, other, places = fields[at : at + 4]
            source, target = divmod(int(places, 16), 256)
            to = ("a" if other == "s" else other, offset)
            if kind == "@":
                self.above[sense].add(to)
            elif kind == "&":
                self.similar[sense].add(to)
            elif kind == "!":
                opposites.append((words[source - 1].lower(), to, target - 1))

    def shares(self, one: str, other: str) -> bool:
        """Whether two words have a sense in common that is not rare for either."""
        both = self.senses[one] & self.senses[other]
        return any(max(self.rank.get((word, sense), 99) for word in (one, other)) <= _MOST_SENSES for sense in both)

    def is_above(self, one: str, other: str, parts: str = "nv") -> bool:
        first, second = ({each for each in self.senses[word] if each[0] in parts} for word in (one, other))
        return any(self.above[each] & second for each in first) or any(self.above[each] & first for each in second)

    def is_similar(self, one: str, other: str) -> bool:
        first, second = self.senses[one], self.senses[other]
        return any(self.similar[a] & second or self.similar[a] & self.similar[b] for a in first for b in second)

    def are_siblings(self, one: str, other: str) -> bool:
        """Whether two words name different things of a kind."""
        first, second = ([each for each in self.senses[word] if each[0] == "n"] for word in (one, other))
        return any(self.above[a] & self.above[b] for a in first for b in second)

    def are_things_apart(self, one: str, other: str) -> bool:
        """Whether two nouns name different things: their first senses are close relatives, or both name things."""
        if not self.is_mostly("n", one) or not self.is_mostly("n", other):
            return False
        first, second = (self._first_noun(word) for word in (one, other))
        if not first or not second or first == second:
            return False
        near, nearby = self._within(first, 2), self._within(second, 2)
        are_near = first not in nearby and second not in near and near & nearby
        return bool(are_near) or self.file[first] == self.file[second] in _THINGS

    def is_mostly(self, part: str, word: str) -> bool:
        """Whether a word is used most often as this part of speech; a noun also if no use is counted."""
        times = self.times[word]
        return times[part] >= max(times.values(), default=0) and (times[part] > 0 or part == "n")

    def _first_noun(self, word: str) -> Sense | None:
        return next((each for each in self.senses[word] if each[0] == "n" and self.rank.get((word, each)) == 1), None)

    def _within(self, sense: Sense, steps: int) -> set[Sense]:
        found = last = {sense}
        for _ in range(steps):
            last = {above for each in last for above in self.above[each]}
            found = found | last
        return found

    def is_noun(self, word: str) -> bool:
        """Whether a word is a noun only, or unknown."""
        return {part for part, _ in self.senses[word]} <= {"n"}

    def is_name(self, word: str) -> bool:
        """Whether a word is a noun whose first sense is written with a capital."""
        return self.is_noun(word) and any(
            self.rank.get((word, sense)) == 1 and sense[0] == "n" and word not in self.words[sense]
            for sense in self.senses[word]
        )


def _moby(path: Path) -> dict[str, set[str]]:
    found = {}
    for line in path.read_text("utf-8", "replace").splitlines():
        root, *others = line.lower().replace(" ", "_").split(",")
        found[root] = {*others}
    return found


def _candidates(wordnet: WordNet, moby: dict[str, set[str]], known: set[str]) -> set[tuple[str, str]]:
    def is_usable(word: str) -> bool:
        parts = word.split("_")
        return len(parts) <= 2 and all(part in known for part in parts) and not wordnet.is_name(word)

    groups = [[word for word in words if word == word.lower()] for words in wordnet.words.values()]
    pairs = {(one, other) for group in groups for one in group for other in group if one < other}
    pairs |= {(min(one, other), max(one, other)) for one, some in moby.items() for other in some if one != other}
    usable = {word: is_usable(word) for pair in pairs for word in pair}
    return {(one, other) for one, other in pairs if usable[one] and usable[other] and not ("_" in one and "_" in other)}


def _least(wordnet: WordNet, moby: dict[str, set[str]], one: str, other: str) -> float:
    """The minimum cosine for a pair of words; above 1 for a pair that is never kept."""
    if frozenset((one, other)) in wordnet.opposites:
        return 2.0
    if wordnet.shares(one, other):
        return _SAME
    if wordnet.are_things_apart(one, other) and not wordnet.is_above(one, other):
        return 2.0
    lists = (other in moby.get(one, ())) + (one in moby.get(other, ()))
    is_sibling = wordnet.are_siblings(one, other)
    if wordnet.is_noun(one) or wordnet.is_noun(other):
        return _NOUNS if lists == 2 and (wordnet.is_above(one, other) or not is_sibling) else 2.0
    if lists == 2 and (wordnet.is_above(one, other) or wordnet.is_similar(one, other) or not is_sibling):
        return _RELATED
    if lists and not is_sibling and (wordnet.is_above(one, other, "v") or wordnet.is_similar(one, other)):
        return _RELATED
    if lists and not is_sibling and wordnet.is_mostly("a", one) and wordnet.is_mostly("a", other):
        return _ADJECTIVES
    return 2.0


def pairs(wordnet: WordNet, moby: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    model = load()
    others = {word for word in moby if not wordnet.is_noun(word)}
    known = {word for word in {*model.pieces._ids} | wordnet.common | others if re.fullmatch("[a-z]{2,}", word)}
    found = {pair: _least(wordnet, moby, *pair) for pair in _candidates(wordnet, moby, known)}
    found = {pair: least for pair, least in found.items() if least < 1}
    words = sorted({word for pair in found for word in pair})
    vectors = dict(zip(words, model.passages([word.replace("_", " ") for word in words]), strict=True))
    apart = {pair for group in _groups(_APART) for pair in permutations(group, 2)}
    for (one, other), least in found.items():
        if (one, other) not in apart and float(vectors[one] @ vectors[other]) >= least:
            yield one, other
    for group in _groups(_COMPUTING):
        yield from combinations(sorted(group), 2)


def _groups(text: str) -> list[list[str]]:
    return [group.split() for group in " ".join(text.split()).split("; ")]


def _irregular(folder: Path) -> Iterator[str]:
    for name in ("noun", "verb"):
        for line in (folder / f"{name}.exc").read_text("utf-8").splitlines():
            form, *bases = line.split()
            if form.isalpha() and bases[0].isalpha():
                yield f"{form} {bases[0]}"


def main(wordnet: Path, exceptions: Path, moby: Path) -> None:
    by_word: dict[str, list[str]] = defaultdict(list)
    for one, other in set(pairs(WordNet(wordnet), _moby(moby))):
        by_word[one].append(other)
    lines = [" ".join([word, *sorted(others)]) for word, others in sorted(by_word.items())]
    _OUT.write_text("\n".join([*lines, "", *sorted(_irregular(exceptions))]) + "\n", "utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
