"""The verb `obsidian-export`: once, or at every interval with --watch."""

from __future__ import annotations

import re
import signal
import threading
from datetime import UTC, datetime
from pathlib import Path

from anamnesis.config import Settings
from anamnesis.engram import exchange, obsidian, projects
from anamnesis.engram.gotext import quote
from anamnesis.engram.obsidian import ExportCounts, ExportFilter
from anamnesis.engram_cli import open_engram
from anamnesis.engram_cli.console import CommandLine, Stop, parse, print_err, print_out
from anamnesis.engram_cli.export_import_sync import warn_of_left_out

_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(?<!\d)(\d++(?:\.\d*+)?+|\.\d++)(h|ms|m|s|us|µs|ns)", re.ASCII)


def run_obsidian_export(arguments: list[str], settings: Settings) -> None:
    flags = "--vault --project --limit --since --graph-config --interval"
    given = parse(arguments, flags, "--force --watch")
    if given.words:
        raise Stop(f"engram: unknown flag: {given.words[0]}")
    if not given.text("--vault"):
        raise Stop("error: flag --vault is required")
    graph = given.text("--graph-config") or "preserve"
    if graph not in obsidian.GRAPH_MODES:
        raise Stop(f"error: invalid --graph-config value: {graph} (accepted: {', '.join(obsidian.GRAPH_MODES)})")
    is_watching = "--watch" in given.switches
    if given.text("--interval") and not is_watching:
        raise Stop("error: --interval requires --watch")
    seconds = _interval(given.text("--interval") or "10m")
    choice = ExportFilter(
        projects.normalise(given.text("--project")), _since(given.text("--since")), given.number("--limit", 0)
    )
    if is_watching:
        _watch(given, choice, graph, seconds, settings)
    else:
        _print_written(_export(given, choice, graph, settings))


def _export(given: CommandLine, choice: ExportFilter, graph: str, settings: Settings) -> ExportCounts:
    with open_engram.opened(settings) as db:
        everything = exchange.export(db, clean=open_engram.cleaning(settings).outgoing, left_out=warn_of_left_out)
    vault = Path(given.text("--vault"))
    return obsidian.export(everything, vault, choice, force="--force" in given.switches, graph=graph)


def _watch(given: CommandLine, choice: ExportFilter, graph: str, seconds: float, settings: Settings) -> None:
    """Export at every interval until a signal stops it."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    while True:
        written = _export(given, choice, graph, settings)
        graph = "skip"  # later exports keep the user's own colours
        print_err(
            f"[engram] exported: {written.created} created, {written.updated} updated, {written.deleted} deleted,"
            f" {written.skipped} skipped, {written.hubs} hubs"
        )
        if stopped.wait(seconds):
            print_err("[engram] shutting down watch mode")
            return


def _print_written(written: ExportCounts) -> None:
    print_out(
        f"Obsidian export complete\n  Created: {written.created}\n  Updated: {written.updated}\n"
        f"  Deleted: {written.deleted}\n  Skipped: {written.skipped}\n  Hubs:    {written.hubs}\n"
    )
    if written.errors:
        print_err("\n".join([f"  Errors: {len(written.errors)}", *(f"    - {each}" for each in written.errors)]))


def _interval(text: str) -> float:
    """The seconds of a duration in Go's form, such as 1h30m."""
    parts = _PART.findall(text)
    if "".join(f"{number}{unit}" for number, unit in parts) != text or not parts:
        raise Stop(f"error: invalid --interval value {quote(text)}: use a form like 10m or 1h30m")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if not 60 <= seconds <= threading.TIMEOUT_MAX:
        raise Stop(f"error: --interval must be at least 1m (minimum), got {text}")
    return seconds


def _since(text: str) -> str:
    """A day or a moment in the form of the database; "" if there is none."""
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or (len(text) != 10 and moment.tzinfo is None):
        raise Stop(f"error: invalid --since value {quote(text)} (expected YYYY-MM-DD or RFC3339)")
    return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
