"""The verb `projects`: list them, merge those with similar names, remove those without memories."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from anamnesis.config import Settings
from anamnesis.engram import projects
from anamnesis.engram.database import Refused
from anamnesis.engram.gotext import quote
from anamnesis.engram.projects import ProjectStats
from anamnesis.engram.strings import to_lower, trim_space
from anamnesis.engram_cli import open_engram
from anamnesis.engram_cli.console import Stop, ask, parse, print_err, print_out

_NUMBER = re.compile(r"[+-]?[0-9]+")


def run_projects(arguments: list[str], settings: Settings) -> None:
    name, *rest = arguments or ["list"]
    given = parse(rest, switches="--all --dry-run")
    is_dry = "--dry-run" in given.switches
    if name not in ("list", "", "consolidate", "prune"):
        raise Stop(
            f"unknown projects subcommand: {name}\nusage: engram projects list\n"
            "       engram projects consolidate [--all] [--dry-run]\n       engram projects prune [--dry-run]"
        )
    with open_engram.opened(settings) as db:
        if name == "prune":
            _prune(db, is_dry)
        elif name == "consolidate" and "--all" in given.switches:
            _consolidate_all(db, is_dry, settings)
        elif name == "consolidate":
            _consolidate(db, is_dry, settings)
        else:
            _list(projects.listing(db))


def _list(found: Sequence[ProjectStats]) -> None:
    if not found:
        print_out("No projects found.\n")
        return
    print_out(f"Projects ({len(found)}):\n")
    for each in found:
        sessions = "session" if each.session_count == 1 else "sessions"
        prompts = "prompt" if each.prompt_count == 1 else "prompts"
        print_out(
            f"  {each.name:<30} {each.observation_count:>4} obs   {each.session_count:>3} {sessions:<9}"
            f"  {each.prompt_count:>3} {prompts}\n"
        )


def _prune(db: sqlite3.Connection, is_dry: bool) -> None:
    empty = [each for each in projects.listing(db) if not each.observation_count]
    if not empty:
        print_out("No empty projects to prune.\n")
        return
    print_out(f"Found {len(empty)} project(s) with 0 observations:\n\n")
    for number, each in enumerate(empty, 1):
        print_out(f"  [{number}] {each.name:<30} {each.session_count:>3} sessions  {each.prompt_count:>3} prompts\n")
    if is_dry:
        print_out(f"\n[dry-run] Would prune {len(empty)} project(s)\n")
        return
    chosen = _choose("\nSelect which to prune (comma-separated numbers, 'all', or 'none'): ", len(empty))
    if chosen is None:
        return
    sessions = prompts = 0
    for number in chosen:
        try:
            pruned = projects.prune(db, empty[number].name)
        except Refused as error:
            print_err(f"Error pruning {quote(empty[number].name)}: {error}")
            continue
        sessions += pruned.sessions_deleted
        prompts += pruned.prompts_deleted
    print_out(f"\nPruned {len(chosen)} project(s): {sessions} sessions, {prompts} prompts removed.\n")


def _consolidate(db: sqlite3.Connection, is_dry: bool, settings: Settings) -> None:
    """Merge projects with similar names or a shared folder into the project of this folder."""
    from anamnesis.engram.detection import detect  # starts git, which few verbs need

    canonical = open_engram.cleaning(settings)(detect(Path.cwd(), settings.home))
    if canonical not in projects.names(db):
        print_out(
            f"Note: {quote(canonical)} has no existing memories."
            " Merging will move memories into this new project name.\n"
        )
    known = {each.name: each for each in projects.listing(db)}
    alike = _alike(db, canonical, known)
    if not alike:
        print_out(f"No similar project names found for {quote(canonical)}. Nothing to consolidate.\n")
        return
    print_out(f"Detected project: {quote(canonical)}\n\nFound similar project names:\n")
    for number, (name, likeness) in enumerate(alike.items(), 1):
        print_out(f"  [{number}] {name:<30} {known[name].observation_count:>3} obs  ({likeness})\n")
    if is_dry:
        print_out(f"\n[dry-run] Would merge {len(alike)} project(s) into {quote(canonical)}\n")
        return
    question = f"\nSelect which to merge into {quote(canonical)} (comma-separated numbers, 'all', or 'none'): "
    chosen = _choose(question, len(alike))
    if chosen is not None:
        _merge(db, [[*alike][number] for number in chosen], canonical)


def _merge(db: sqlite3.Connection, sources: Sequence[str], canonical: str) -> None:
    print_out(f"\nMerging {len(sources)} project(s) into {quote(canonical)}...\n")
    merged = projects.merge(db, sources, canonical)
    print_out(
        f"Done! Merged into {quote(merged.canonical)}:\n  Observations: {merged.observations_updated}\n"
        f"  Sessions:     {merged.sessions_updated}\n  Prompts:      {merged.prompts_updated}\n"
    )


def _alike(db: sqlite3.Connection, canonical: str, known: Mapping[str, ProjectStats]) -> dict[str, str]:
    """The names that may mean the same project, each with the kind of similarity."""
    alike = {name: _likeness(canonical, name) for name in projects.similar(db, canonical)}
    folders = {*(known[canonical].directories if canonical in known else ())} or {str(Path.cwd())}
    for each in known.values():
        if each.name != canonical and each.name not in alike and folders & set(each.directories):
            alike[each.name] = "shared directory"
    return alike


def _likeness(name: str, other: str) -> str:
    name, other = trim_space(to_lower(name)), trim_space(to_lower(other))
    if name == other:
        return "case-insensitive"
    return "substring" if name in other or other in name else "levenshtein"


def _choose(question: str, count: int) -> list[int] | None:
    """The indexes that the user chose; None if the choice was cancelled or invalid, after a message."""
    answer = ask(question)
    if answer in ("none", "n", ""):
        print_out("Cancelled.\n")
        return None
    if answer in ("all", "a"):
        return list(range(count))
    chosen = []
    for part in answer.split(","):
        number = _place(part, count)
        if number is None:
            print_err(f"Invalid selection: {quote(part.strip())} (expected 1-{count})")
            return None
        chosen.append(number)
    return chosen


def _place(part: str, count: int) -> int | None:
    """The index of a number from 1 to `count`; text after the number is ignored."""
    found = _NUMBER.match(part.strip())
    number = int(found[0]) if found and len(found[0]) < 10 else 0
    return number - 1 if 1 <= number <= count else None


def _consolidate_all(db: sqlite3.Connection, is_dry: bool, settings: Settings) -> None:
    known = projects.listing(db)
    groups = _groups(known)
    if not groups:
        print_out("No similar project name groups found.\n")
        return
    print_out(f"Found {len(groups)} group(s) of similar project names:\n\n")
    counts = {each.name: each.observation_count for each in known}
    for number, (canonical, names) in enumerate(groups, 1):
        print_out(f"Group {number}:\n")
        for place, name in enumerate(names, 1):
            marker = "→ " if name == canonical else "  "
            print_out(f"  {marker}[{place}] {name:<30} {counts[name]:>3} obs\n")
        print_out(f"  Suggested canonical: {quote(canonical)} (→)\n")
        if is_dry:
            print_out(f"  [dry-run] Would merge into {quote(canonical)}\n\n")
        else:
            _merge_group(db, canonical, names, settings)


def _merge_group(db: sqlite3.Connection, canonical: str, names: Sequence[str], settings: Settings) -> None:
    answer = ask(
        f"\n  Options:\n    all     — merge everything into {quote(canonical)}\n"
        f"    1,3,... — merge only selected numbers into {quote(canonical)}\n"
        "    rename  — choose a different canonical name\n    skip    — don't touch this group\n  Choice: "
    )
    if answer in ("skip", "s", "n", ""):
        print_out("  Skipped.\n\n")
        return
    if answer in ("rename", "r"):
        canonical = open_engram.cleaning(settings)(ask("  Enter canonical name: "))
        answer = "all"
        if not canonical:
            print_out("  Empty input, skipping.\n\n")
            return
    if answer in ("all", "a", "y", "yes"):
        places: list[int | None] = list(range(len(names)))
    else:
        places = [_place(part, len(names)) for part in answer.split(",")]
        for part, place in zip(answer.split(","), places, strict=True):
            if place is None:
                print_err(f"  Invalid selection: {quote(part.strip())} (expected 1-{len(names)})")
                print_out("\n")
    sources = [names[place] for place in places if place is not None and names[place] != canonical]
    if not sources:
        print_out("  Nothing to merge.\n\n")
        return
    merged = projects.merge(db, sources, canonical)
    print_out(
        f"  Merged: {merged.observations_updated} obs, {merged.sessions_updated} sessions,"
        f" {merged.prompts_updated} prompts\n\n"
    )


def _groups(known: Sequence[ProjectStats]) -> list[tuple[str, list[str]]]:
    """Groups of projects with similar names or a shared folder, each with the name that has most memories."""
    group = {each.name: {each.name} for each in known}

    def unite(names: Sequence[str]) -> None:
        united = set().union(*(group[name] for name in names))
        for name in united:
            group[name] = united

    for each in known:
        unite([each.name, *projects.similar_names(each.name, group)])
        for other in known:
            if set(each.directories) & set(other.directories):
                unite([each.name, other.name])
    counts = {each.name: each.observation_count for each in known}
    several = {frozenset(names) for names in group.values() if len(names) > 1}
    # On a tie, Engram keeps the first of its list, which is sorted by name.
    return sorted((min(names, key=lambda name: (-counts[name], name)), sorted(names)) for names in several)
