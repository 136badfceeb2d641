"""The machines that write to this memory and its sync, and the agents on this one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList

from anamnesis.age import age, brief_age
from anamnesis.config import Settings
from anamnesis.exchange.result import not_sent
from anamnesis.exchange.standing import hub_facts
from anamnesis.onboard import machine
from anamnesis.onboard.agent import Agent
from anamnesis.onboard.ledger import Ledger
from anamnesis.plural import counted
from anamnesis.store import MemoryStore
from anamnesis.store.facets import Machine, machines
from anamnesis.sync import SyncState, configured_backend
from anamnesis.sync.machines import last_syncs
from anamnesis.tui import drawing
from anamnesis.tui.listing import Listing
from anamnesis.vault import Vault


class Fleet(NamedTuple):
    """Machines with their last syncs, the state of the sync, the agents and whether each is set up, and the hub."""

    machines: list[Machine]
    synced: dict[str, str]
    sync: SyncState
    agents: list[tuple[Agent, bool]]
    hub: dict[str, Any] | None


def fleet(store: MemoryStore, settings: Settings) -> Fleet:
    place = machine.place(settings)
    known = set(Ledger(settings.home).agents())
    here = [each for each in machine.agents(settings) if each.is_installed(place)]
    state = configured_backend(store, settings).state()
    agents = [(each, each.name in known) for each in here]
    return Fleet(machines(store), last_syncs(store), state, agents, hub_facts(store))


class Section(Listing):
    """Machines and agents, and a sync by hand."""

    SECTION = "fleet"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("s", "sync", "Sync now")]

    def __init__(self) -> None:
        super().__init__()
        self._fleet: Fleet | None = None

    def reload(self) -> None:
        self.read(lambda store: fleet(store, self.program.settings), self._show)

    def _show(self, found: Fleet) -> None:
        self._fleet = found
        self.show_title(_sync_line(found.sync) + _hub_line(found.hub))
        rows = self.rows
        rows.fill(self._rows(found), rows.key)

    def _rows(self, found: Fleet) -> Iterable[tuple[str, Content]]:
        heading = f"bold {drawing.MUTED}"
        yield "", Content.styled("Machines", heading)
        for each in found.machines:
            is_this = each.name == self.program.settings.machine_id
            yield (
                f"machine {each.name}",
                Content.assemble(
                    (f"{brief_age(each.last):>5} ", drawing.MUTED),
                    drawing.padded(each.name, 20, "bold" if is_this else ""),
                    (f"{each.notes:>8,}", drawing.MUTED),
                    (" this one", "$success") if is_this else "",
                ),
            )
        yield "", Content.styled("Agents on this machine", heading)
        for agent, is_set_up in found.agents:
            mark = ("    ✓ ", "$success") if is_set_up else ("    – ", drawing.MUTED)
            yield f"agent {agent.name}", Content.assemble(mark, drawing.line(agent.title))

    @on(OptionList.OptionHighlighted, "#rows")
    def _describe(self) -> None:
        kind, _, name = (self.rows.key or "").partition(" ")
        pane = self.pane
        if self._fleet and kind == "machine":
            pane.show(_machine(next(each for each in self._fleet.machines if each.name == name), self._fleet.synced))
        elif self._fleet and kind == "agent":
            pane.show(_agent(*next(each for each in self._fleet.agents if each[0].name == name)))

    def action_sync(self) -> None:
        self.announce("Syncing …")
        settings = self.program.settings

        def work(vault: Vault) -> str:
            done = vault.sync(configured_backend(vault.notes, settings), settings, retries=True)
            if done.hub and done.hub.has_news:
                from anamnesis.exchange.login import mark_told  # imports TLS and HTTP, which a login alone needs

                mark_told(settings.home, done.hub.news)
            details = [done.git.detail, *([done.hub.detail, *done.hub.news] if done.hub else []), *done.decided]
            return "; ".join(dict.fromkeys(filter(None, details))) or "Synced."

        self.change(work, self._synced)

    def _synced(self, detail: str) -> None:
        self.announce(detail)
        self.program.reload()


def _sync_line(sync: SyncState) -> str:
    if not sync.initialized:
        return "not synced yet"
    return f"synced with {sync.remote or 'no remote'}, {'with changes to sync' if sync.dirty else 'nothing to sync'}"


def _hub_line(hub: dict[str, Any] | None) -> str:
    if hub is None:
        return ""
    if hub["failure"]:
        unsent = f" {not_sent(hub['unsent'])}" if hub["unsent"] else ""
        return (
            f"; exchanges with the hub fail, first {age(hub['failure']['since'])}: {hub['failure']['reason']}{unsent}"
        )
    waiting = f", {counted(len(hub['waiting']), 'note waits', 'notes wait')}" if hub["waiting"] else ""
    invited = len(hub["invitations"])
    invitations = f", {counted(invited, 'invitation waits', 'invitations wait')}" if invited else ""
    return f"; hub {hub['url']}{waiting}{invitations}"


def _machine(each: Machine, synced: dict[str, str]) -> Content:
    facts = [f"{counted(each.notes, 'note')}", f"last note {age(each.last)}"]
    facts.append(f"last sync {age(synced[each.name])}" if each.name in synced else "never synced")
    return drawing.lines([drawing.line(each.name, "bold"), *(drawing.line(fact) for fact in facts)])


def _agent(agent: Agent, is_set_up: bool) -> Content:
    state = "It is set up." if is_set_up else f"It is not set up: anamnesis init --agent {agent.name}"
    files = [drawing.line(path, drawing.MUTED) for path in dict.fromkeys(str(edit.file) for edit in agent.all_edits)]
    return drawing.lines([drawing.line(agent.title, "bold"), drawing.line(state), Content(), *files])
