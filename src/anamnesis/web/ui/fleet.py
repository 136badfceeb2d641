"""The machines that write to this memory, unsynced changes, a sync by hand, and the agents of this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from anamnesis.exchange.standing import hub_facts
from anamnesis.store.facets import Machine, machines
from anamnesis.store.spaces import unshared
from anamnesis.store.unsynced import count_unsynced
from anamnesis.sync import configured_backend
from anamnesis.sync.failure import last_failure
from anamnesis.sync.machines import last_syncs
from anamnesis.web.lanes import Lane
from anamnesis.web.ui.action import Action, FormInput, NextPage
from anamnesis.web.ui.view import Data, PageRequest, Site, View

if TYPE_CHECKING:
    from anamnesis.doctor.agents import AgentCheck
    from anamnesis.store import MemoryStore

# Each step of a sync reloads the page; the agents are not checked every time.
_AGENTS_SECONDS = 5.0


def _read(site: Site, _request: PageRequest) -> Data:
    store = site.vault.notes
    failure = last_failure(store.root)
    return {
        "machines": _machines(store, site.settings.machine_id),
        "sync": {**asdict(configured_backend(store, site.settings).state()), "waiting": count_unsynced(store)},
        "step": site.background.syncing.step,
        "outcome": site.background.syncing.outcome,
        "failure": failure._asdict() if failure else None,
        "unshared": [each._asdict() for each in unshared(store)],
        "hub": hub_facts(store),
        "agents": [_agent(each) for each in site.background.agents.result(_AGENTS_SECONDS).agents],
    }


def _machines(store: MemoryStore, this: str) -> list[Data]:
    """The machines that have written notes, and those that have synced changes of others' notes."""
    synced, written = last_syncs(store), machines(store)
    others = [Machine(name, 0, "") for name in synced if name not in {each.name for each in written}]
    return [
        {**each._asdict(), "synced_at": synced.get(each.name), "is_this": each.name == this}
        for each in (*written, *others)
    ]


def _agent(checked: AgentCheck) -> Data:
    """An agent: the states of its MCP server and hooks, its faults, and the command that sets it up or repairs it."""
    agent = checked.agent
    faults = [{"subject": each.subject, "fault": each.fault, "fix": each.fix} for each in checked.findings]
    about = {"name": agent.name, "title": agent.title, "is_set_up": checked.is_set_up, "remark": agent.remark}
    return {**about, **checked.states, "faults": faults, "command": checked.command}


def _sync(site: Site, _form: FormInput) -> NextPage:
    """Start a sync; the page shows its steps."""
    site.background.syncing.start(site.vault, site.settings, site.lanes)
    return NextPage("fleet")


VIEWS = (View("/fleet", "fleet.html", _read, Lane.GIT),)
ACTIONS = (Action("/fleet", _sync, Lane.GIT),)
