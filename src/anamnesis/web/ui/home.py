"""The first page: new notes, the growth of the memory, and what needs the user's attention."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta

from anamnesis.dream.reviewing import listed
from anamnesis.engram import sessions
from anamnesis.notes.marks import GONE
from anamnesis.notes.merge import CONFLICT_TAG
from anamnesis.plural import counted
from anamnesis.review import waiting_ids
from anamnesis.store import MemoryStore
from anamnesis.sync.failure import GIT, HUB, last_failure
from anamnesis.timeline import recently_received, utc
from anamnesis.web.ui.view import Data, PageRequest, Site, View, summaries

_RECENT = 12
_DAYS = 60
_MOST_PROJECTS = 10
# The maximum age of results of checks.
_CHECK_SECONDS = 60.0


def _read(site: Site, _request: PageRequest) -> Data:
    store = site.vault.notes
    stats = store.stats()
    projects = sorted(stats.by_project.items(), key=lambda pair: (-pair[1], pair[0]))
    return {
        "total": stats.total,
        "by_type": stats.by_type,
        "projects": [list(pair) for pair in projects[:_MOST_PROJECTS]],
        "project_count": len(projects),
        **_days(store),
        "recent": summaries(store, store.list(limit=_RECENT)),
        "attention": _attention(site),
        "told": recently_received(store, _RECENT),
        "sessions": _sessions(site),
    }


def _attention(site: Site) -> list[Data]:
    """What needs the user's attention, each with a count and a page.

    Checks run in the background: the last results are shown, and open pages get new ones.
    """
    store, glance, agents = site.vault.notes, site.background.glance, site.background.agents
    for check in (glance, agents):
        check.renew(site.lanes, _CHECK_SECONDS)
    broken = [agent for agent in agents.known.agents if agent.findings] if agents.known else []
    found = [
        ("conflicts", len(store.tagged(CONFLICT_TAG)), "review", "note in two versions", "notes in two versions"),
        ("review", len(waiting_ids(store)), "review", "note to review", "notes to review"),
        ("proposals", len(listed(store, date.today())), "review", "proposal of dreams", "proposals of dreams"),
        (
            "stale",
            len(store.tagged(GONE)),
            f"notes?tag={GONE}",
            "note about code that is gone",
            "notes about code that is gone",
        ),
        ("faults", len(glance.known or ()), "health", "fault in the memory", "faults in the memory"),
        ("agents", len(broken), "fleet", "agent with a broken setup", "agents with a broken setup"),
        (
            "sync",
            sum(bool(last_failure(store.root, each)) for each in (GIT, HUB)),
            "fleet",
            "failed sync",
            "failed syncs",
        ),
    ]
    return [
        {"kind": kind, "count": count, "page": page, "about": counted(count, one, many)}
        for kind, count, page, one, many in found
        if count
    ]


def _sessions(site: Site) -> list[Data]:
    found = sessions.recent(site.lanes.connection()) if site.lanes.has_engram else []
    return [{**asdict(each), "at": utc(each.started_at)} for each in found]


def _days(store: MemoryStore) -> Data:
    """The number of written notes and of uses of notes on each of the last days."""
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=back) for back in reversed(range(_DAYS))]
    written, first = store.activity(days[0].isoformat()), (days[0] - date(1970, 1, 1)).days
    used = store.usage.by_day(first * 86_400)
    return {
        "days": [[day.isoformat(), written.get(day.isoformat(), 0)] for day in days],
        "used_days": [[day.isoformat(), used.get(first + place, 0)] for place, day in enumerate(days)],
    }


VIEWS = (View("/", "home.html", _read),)
