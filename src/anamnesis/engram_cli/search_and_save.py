"""The verbs that read and write memories: search, save, timeline, context, stats."""

from __future__ import annotations

from dataclasses import replace

from anamnesis.config import Settings
from anamnesis.engram import context, observations, projects, search, sessions, text, timeline
from anamnesis.engram.clean import cleaned
from anamnesis.engram.gotext import quote, whole
from anamnesis.engram.observations import NewObservation
from anamnesis.engram.record import marked_timeline, nothing_waits
from anamnesis.engram_cli import open_engram
from anamnesis.engram_cli.console import Stop, parse, piped, print_err, print_out
from anamnesis.notes.cleaning import warning
from anamnesis.notes.orders import why_dangerous


def run_search(arguments: list[str], settings: Settings) -> None:
    if not arguments:
        raise Stop("usage: engram search <query> [--type TYPE] [--project PROJECT] [--scope SCOPE] [--limit N]")
    given = parse(arguments, "--type --project --scope --limit")
    query = " ".join(given.words)
    if not query:
        raise Stop("error: search query is required")
    with open_engram.opened_to_read(settings) as (db, marked):
        results = search.search(
            db,
            query,
            type=given.text("--type"),
            project=given.text("--project"),
            scope=given.text("--scope"),
            limit=given.number("--limit", 10),
        )
        results = marked(db, results)
    print_out(text.found(query, results, is_tool=False))


def run_save(arguments: list[str], settings: Settings) -> None:
    if len(arguments) < 2:
        raise Stop(
            "usage: engram save <title> <content> [--type TYPE] [--project PROJECT] [--scope SCOPE] [--topic TOPIC_KEY]"
        )
    title, content, *rest = arguments
    if content == "-" and not settings.engram_strict:
        content = piped()
    given = parse(rest, "--type --project --scope --topic")
    cleaning = open_engram.cleaning(settings)
    new = cleaned(
        NewObservation(
            session_id="",
            title=title,
            content=content,
            type=given.text("--type", "manual"),
            project=given.text("--project"),
            scope=given.text("--scope", "project"),
            topic_key=given.text("--topic"),
        ),
        cleaning.all,
    )
    with open_engram.opened_here(settings) as (db, place):
        session = sessions.begin(db, new.project, place=place)
        saved = observations.add(db, replace(new, session_id=session))
    print_out(f"Memory saved: #{saved.id} {quote(new.title)} ({new.type})\n")
    print_err(warning(cleaning.kinds))


def run_timeline(arguments: list[str], settings: Settings) -> None:
    if not arguments:
        raise Stop("usage: engram timeline <observation_id> [--before N] [--after N]")
    id = whole(arguments[0])
    if id is None:
        raise Stop(f"error: invalid observation id {quote(arguments[0])}")
    given = parse(arguments[1:], "--before --after")
    with open_engram.opened_to_read(settings) as (db, marked):
        found = timeline.timeline(db, id, given.number("--before", 5), given.number("--after", 5))
        found = marked_timeline(db, found, marked)
    print_out(text.around(found))


def run_context(arguments: list[str], settings: Settings) -> None:
    given = parse(arguments, "--scope --project")
    project = given.text("--project") or next(iter(given.words), "")
    with open_engram.opened_to_read(settings) as (db, marked):
        waits = nothing_waits if settings.engram_strict else why_dangerous
        blob = context.context(db, project, given.text("--scope"), marking=marked, waits=waits)
    print_out(blob or f"{text.NOTHING_YET}\n")


def run_stats(_: list[str], settings: Settings) -> None:
    with open_engram.opened(settings) as db:
        counts = projects.stats(db)
    print_out(
        "Engram Memory Stats\n"
        f"  Sessions:     {counts.total_sessions}\n"
        f"  Observations: {counts.total_observations}\n"
        f"  Prompts:      {counts.total_prompts}\n"
        f"  Projects:     {', '.join(counts.projects) or 'none yet'}\n"
        f"  Database:     {settings.engram_db()}\n"
    )
