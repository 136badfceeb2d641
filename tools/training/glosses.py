"""Pairs from short explanations: WordNet's words with their glosses, tldr's sentences with their commands. Pure."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from tools.training.pairs import Pair


def wordnet_pairs(source: str, text: str, _chance: random.Random) -> Iterator[Pair]:
    """A data file of WordNet: the words of each synset with its gloss."""
    for line in text.splitlines():
        if line.startswith(" "):  # the licence
            continue
        fields, _, gloss = line.partition(" | ")
        parts = fields.split(" ")
        words = parts[4 : 4 + 2 * int(parts[3], 16) : 2]
        names = [re.sub(r"\(\w+\)$", "", word).replace("_", " ") for word in words]
        yield Pair(source, ", ".join(names), gloss)


def tldr_pairs(source: str, text: str, _chance: random.Random) -> Iterator[Pair]:
    """A page of tldr: each example's sentence, with the command and the purpose of the program."""
    name = re.search(r"^# (.+)$", text, re.MULTILINE)
    about = [line[2:] for line in text.splitlines() if line.startswith("> ")]
    purpose = " ".join(line for line in about if not line.startswith(("More information", "See also")))
    for sentence, command in re.findall(r"^- (.+?):?\n\n`(.+)`$", text, re.MULTILINE):
        plain = re.sub(r"\{\{(.*?)\}\}", r"\1", command)
        yield Pair(source, sentence, f"{name[1] if name else ''}: {purpose}\n{plain}")
