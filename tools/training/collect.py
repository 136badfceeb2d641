"""Collects pairs of a query and a passage from local copies of the named sources. Downloads nothing.

python -m tools.training.collect --out pairs.jsonl --wheels wheels/ tldr-pages/tldr=checkouts/tldr wordnet=dict ...
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tools.training.dialogues import meeting_pairs, persona_pairs, task_pairs
from tools.training.documents import document_pairs, markdown_of
from tools.training.functions import function_pairs, is_permissive, licence_of
from tools.training.glosses import tldr_pairs, wordnet_pairs
from tools.training.pairs import Pair, accepted, write


def restructured_pairs(source: str, text: str, chance: random.Random) -> Iterator[Pair]:
    return document_pairs(source, markdown_of(text), chance)


class Source(NamedTuple):
    """The files of a checkout to read, their reader, and their licence."""

    files: str
    reader: Callable[[str, str, random.Random], Iterator[Pair]]
    licence: str


_CC_BY = "CC BY 4.0"
SOURCES = {
    "wordnet": Source(r"(^|/)data\.(noun|verb|adj|adv)$", wordnet_pairs, "WordNet 3.0"),
    "dotnet/docs": Source(r"^docs/.*\.md$", document_pairs, f"{_CC_BY}, code MIT"),
    "tldr-pages/tldr": Source(r"^pages/.*\.md$", tldr_pairs, _CC_BY),
    "github/docs": Source(r"^content/.*\.md$", document_pairs, f"{_CC_BY}, code MIT"),
    "MicrosoftDocs/azure-devops-docs": Source(r"^docs/.*\.md$", document_pairs, f"{_CC_BY}, code MIT"),
    "kubernetes/website": Source(r"^content/en/.*\.md$", document_pairs, _CC_BY),
    "microsoft/vscode-docs": Source(r"^(docs|api|release-notes)/.*\.md$", document_pairs, "CC BY 3.0 US, code MIT"),
    "MicrosoftDocs/PowerShell-Docs": Source(
        r"^reference/(7\.6|docs-conceptual)/.*\.md$", document_pairs, f"{_CC_BY}, code MIT"
    ),
    "docker/docs": Source(r"^content/.*\.md$", document_pairs, "Apache-2.0"),
    "google-research-datasets/Synthetic-Persona-Chat": Source(r"^data/.*\.csv$", persona_pairs, _CC_BY),
    "nodejs/node": Source(r"^doc/(api|contributing)/.*\.md$", document_pairs, "MIT"),
    "istio/istio.io": Source(r"^content/en/.*\.md$", document_pairs, "Apache-2.0"),
    "django/django": Source(r"^docs/.*\.txt$", restructured_pairs, "BSD-3-Clause"),
    "reactjs/react.dev": Source(r"^src/content/.*\.mdx?$", document_pairs, _CC_BY),
    "Yale-LILY/QMSum": Source(r"^data/ALL/(train|val)/.*\.json$", meeting_pairs, "MIT"),
    "rust-lang/book": Source(r"^src/.*\.md$", document_pairs, "MIT or Apache-2.0"),
    "google-research-datasets/Taskmaster": Source(
        r"^TM-[1-4][^/]*/(data/)?(?!ontology|sample)[\w-]+\.json$", task_pairs, _CC_BY
    ),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="collect", description="Collect pairs of a query and a passage.")
    parser.add_argument("sources", nargs="*", metavar="NAME=FOLDER", help=f"a local copy of: {', '.join(SOURCES)}")
    parser.add_argument("--wheels", type=Path, help="a folder of wheels whose Python functions are read")
    parser.add_argument("--exclude", type=Path, help="texts to leave out, one JSON string a line")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    folders = {name: Path(folder) for name, _, folder in (each.partition("=") for each in given.sources)}
    for name, folder in [*folders.items(), *([("--wheels", given.wheels)] if given.wheels else [])]:
        if name != "--wheels" and name not in SOURCES:
            parser.error(f"{name} is not a source; these are: {', '.join(SOURCES)}")
        if not folder.is_dir():
            parser.error(f"{name}: {folder} is not a folder; give a local copy as NAME=FOLDER")
    excluded = [json.loads(line) for line in given.exclude.read_text("utf-8").splitlines()] if given.exclude else []
    counts = write(given.out, accepted(_collected(folders, given.wheels, random.Random(given.seed)), excluded))
    for source, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{count:9,}  {source}")
    print(f"{sum(counts.values()):9,}  pairs in {given.out}")
    return 0


def source_pairs(name: str, folder: Path, chance: random.Random) -> Iterator[Pair]:
    """The pairs of one source. An unreadable file is reported and skipped."""
    source = SOURCES[name]
    for path in sorted(folder.rglob("*")):
        if path.is_file() and re.search(source.files, path.relative_to(folder).as_posix()):
            try:
                yield from source.reader(name, path.read_text("utf-8", errors="replace"), chance)
            except (ValueError, KeyError, IndexError, TypeError) as error:
                print(f"skipped {path}: {error!r}", file=sys.stderr)


def wheel_pairs(folder: Path, chance: random.Random) -> Iterator[Pair]:
    """The pairs of all wheels with permissive licences; other wheels are reported and skipped."""
    seen: set[str] = set()
    for wheel in sorted(folder.glob("*.whl")):
        try:
            licence = licence_of(wheel)
            if is_permissive(licence):
                yield from function_pairs(wheel, chance, seen)
            else:
                print(f"skipped {wheel.name}: its licence is {licence}", file=sys.stderr)
        except zipfile.BadZipFile as error:
            print(f"skipped {wheel.name}: {error}", file=sys.stderr)


def _collected(folders: dict[str, Path], wheels: Path | None, chance: random.Random) -> Iterator[Pair]:
    if wheels:
        yield from wheel_pairs(wheels, chance)
    for name, folder in folders.items():
        yield from source_pairs(name, folder, chance)


if __name__ == "__main__":
    sys.exit(main())
