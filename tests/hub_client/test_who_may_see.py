"""Members of a team, a hub, git and Engram, and a model of who may see which text: after each step, nobody else has it.

Each line has a word of its own. The model knows by whom each word was written, and where its note was since; the other
side is asked: every file of every home, and everything that the hub gives a member. ANAMNESIS_SEED chooses the walk;
`make hunt` makes others, each ten times as long.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests import forking
from tests.cli.command import Done
from tests.exchange.random_edits import SEED
from tests.hub.running import Client, RunningHub
from tests.hub_client.conftest import People, Person
from tests.hunting import at_length
from tests.sync.machine import bare

from anamnesis.hub import accounts
from anamnesis.hub.database import administrator
from anamnesis.notes import parse

WORD = re.compile(rb"\b(?:ann|bob|cyd)word\d+x\b")
PROJECT = "acme/falcon"
# Whoever gets the export of an engram.db, such as a repository that others read.
EVERYBODY = "everybody"
# Files of a home whose contents are compressed or not text.
_OPAQUE = ("objects", "vectors.db", "sketches.db")
# Exchanges of all machines after which all have the same.
_ROUNDS = 4
_STEPS_BETWEEN = 20


def words(data: bytes | str) -> set[str]:
    return {found.decode() for found in WORD.findall(data.encode() if isinstance(data, str) else data)}


@dataclass
class Machine:
    name: str
    user: str
    run: Person

    @property
    def memory(self) -> Path:
        return self.run.home / "memory"

    def files(self) -> dict[str, Path]:
        """The file of each note, by the note's id."""
        found = [*self.memory.rglob("*.md"), *(self.run.home / "local").rglob("*.md")]
        return {parse(path.read_text()).id: path for path in found if "conflicts" not in path.parts}

    def is_portable(self, path: Path) -> bool:
        return path.is_relative_to(self.memory)

    def holds(self) -> set[str]:
        """The words in all files of its home, also of databases and the trash."""
        found: set[str] = set()
        for path in self.run.home.rglob("*"):
            if path.is_file() and not any(part in _OPAQUE for part in path.parts):
                found |= words(path.read_bytes())
        return found

    def engram(self, *arguments: str) -> Done:
        code, out, err = forking.run(("engram", *arguments), b"", self.run.folder, self.run.environment({}))
        return Done(code, out.decode(), err.decode())


@dataclass
class Note:
    owner: str
    # Where it may be: "core", or "" for its owner's own space and machine.
    places: set[str]
    # All words that it ever had, and whether its owner has shared it since all machines last had the same.
    words: set[str] = field(default_factory=set)
    is_shared: bool = False
    is_taken_out: bool = False


class Walk:
    def __init__(self, hub: RunningHub, machines: list[Machine], clients: dict[str, Client], chance: random.Random):
        self.hub = hub
        self.machines = machines
        self.clients = clients
        self.chance = chance
        self.members = {"ann", "bob"}
        self.number = 0
        self.notes: dict[str, Note] = {}
        # Who may have a word, for ever: it was in a note while they could read it.
        self.may: dict[str, set[str]] = {}
        # The words that nobody has removed.
        self.living: set[str] = set()
        self.project_is_given = False
        self.operations: list[tuple[int, Callable[[Machine], None]]] = [
            (16, self.write), (20, self.edit), (6, self.remove_a_line), (8, self.share), (8, self.take_out),
            (5, self.keep_here), (4, self.delete), (4, self.restore), (4, self.write_by_engram),
            (3, self.export_engram), (4, self.give_or_take_the_project), (4, self.answer_for_the_project),
            (40, self.sync),
        ]  # fmt: skip

    def run(self, steps: int) -> None:
        weights = [weight for weight, _ in self.operations]
        for number in range(steps):
            (operation,) = self.chance.choices([each for _, each in self.operations], weights)
            machine = self.chance.choice(self.machines)
            print(number, operation.__name__, machine.name, end=" ")  # shown if it fails
            operation(machine)
            print()
            self.learn_of_copies()
            self.check_what_machines_hold()
            if number % _STEPS_BETWEEN == _STEPS_BETWEEN - 1:
                self.converge()

    # What users do.

    def word(self, machine: Machine, readers: set[str]) -> str:
        self.number += 1
        found = f"{machine.user}word{self.number}x"
        self.may[found] = {machine.user} | readers
        self.living.add(found)
        return found

    def a_note(self, machine: Machine) -> tuple[str, Path] | None:
        files = machine.files()
        found = self.chance.choice(sorted(files.items())) if files else None
        print(found[0] if found else "", end=" ")
        return found

    def write(self, machine: Machine) -> None:
        where = self.chance.choice([[], ["--space", "core"], ["--scope", "machine-local"], ["-p", PROJECT]])
        word = self.word(machine, set())
        print(where, word, end=" ")
        said = machine.run("write", f"Title {self.number}", word, *where, "--json")
        assert said.code == 0, said.err
        place = said.json.get("space", "")  # what the answer says is what the other side is asked about
        assert place in ("core", "") and (place == "core" if "core" in where else place == "" or PROJECT in where)
        self.may[word] |= self.members if place == "core" else set()
        self.may[word] |= set() if "machine-local" in where else {EVERYBODY}
        self.notes[said.json["id"]] = Note(machine.user, {place}, {word})

    def edit(self, machine: Machine) -> None:
        """By an editor that knows nothing of the program."""
        if found := self.a_note(machine):
            id, path = found
            note = self.notes[id]
            word = self.word(machine, self.members if "core" in note.places else set())
            print(word, end=" ")
            note.words.add(word)
            if machine.is_portable(path):
                self.may[word].add(EVERYBODY)
            with path.open("a") as file:
                file.write(f"{word}\n")

    def remove_a_line(self, machine: Machine) -> None:
        if found := self.a_note(machine):
            lines = found[1].read_text().split("\n")
            chosen = [line for line in lines if line.strip() and line.strip() in words(line)]
            if len(chosen) > 1:
                gone = self.chance.choice(chosen)
                self.living.discard(gone.strip())
                found[1].write_text("\n".join(line for line in lines if line != gone))

    def share(self, machine: Machine) -> None:
        found = self.a_note(machine)
        if found and self.notes[found[0]].owner == machine.user:
            self.given_to_core(found[0], machine)
            machine.run("move", found[0], "--scope", "portable", "--space", "core", "--yes")

    def given_to_core(self, id: str, machine: Machine) -> None:
        note = self.notes[id]
        self.grant(note, self.members if machine.user in self.members else set())
        if machine.user in self.members:
            note.is_shared = True
            note.places.add("core")

    def grant(self, note: Note, readers: set[str]) -> None:
        """To these what any machine has in the file of this note."""
        for each in self.machines:
            for id, path in each.files().items():
                if self.notes[id] is note:
                    for word in words(path.read_bytes()):
                        self.may[word] |= readers | {EVERYBODY}

    def answer_for_the_project(self, machine: Machine) -> None:
        """Share the earlier notes of the team's project, all at once, or keep them."""
        verb, *sure = self.chance.choice([["share", "--yes"], ["keep"]])
        done = machine.run("space", verb, *sure, "--json")
        assert done.code == 0, done.err
        if verb == "share":
            for each in done.json:
                print(each, end=" ")
                for id in each["notes"]:
                    self.given_to_core(id, machine)

    def take_out(self, machine: Machine) -> None:
        self.move_out(machine, "--space", "~")

    def keep_here(self, machine: Machine) -> None:
        self.move_out(machine, "--scope", "machine-local")

    def move_out(self, machine: Machine, *where: str) -> None:
        found = self.a_note(machine)
        if found and machine.is_portable(found[1]) and (note := self.notes[found[0]]).owner == machine.user:
            done = machine.run("move", found[0], *where, "--yes")
            assert done.code == 0, done.err
            note.is_taken_out = True
            note.places.add("")

    def delete(self, machine: Machine) -> None:
        if (found := self.a_note(machine)) and (note := self.notes[found[0]]).owner == machine.user:
            self.living -= words(found[1].read_bytes())
            assert machine.run("delete", found[0], "--yes").code == 0
            note.is_taken_out = True

    def restore(self, machine: Machine) -> None:
        trashed = [each["id"] for each in machine.run("restore", "--json").json]
        if trashed:
            id = self.chance.choice(sorted(trashed))
            print(id, end=" ")
            is_done = machine.run("restore", id).code == 0
            if is_done and self.notes[id].owner == machine.user and "space: core" in machine.files()[id].read_text():
                self.given_to_core(id, machine)

    def write_by_engram(self, machine: Machine) -> None:
        word = self.word(machine, {EVERYBODY})
        done = machine.engram("save", f"Saved {self.number}", word, "--project", "lamp")
        assert done.code == 0, done.err
        listed = machine.run("list", "--json").json
        (id,) = [each["id"] for each in listed if each["title"] == f"Saved {self.number}"]
        self.notes[id] = Note(machine.user, {""}, {word})

    def export_engram(self, machine: Machine) -> None:
        file = machine.run.folder / "export.json"
        assert machine.engram("export", str(file)).code == 0
        denied = {word for word in words(file.read_bytes()) if EVERYBODY not in self.may[word]}
        assert denied == set(), "machine-local words are in the export"

    def give_or_take_the_project(self, machine: Machine) -> None:
        with administrator(self.hub.database) as db:
            core = accounts.find_space(db, "core")
            (accounts.take_project if self.project_is_given else accounts.give_project)(db, core, PROJECT)
        self.project_is_given = not self.project_is_given

    def sync(self, machine: Machine) -> None:
        done = machine.run("sync", "--json")
        assert done.code == 0 and "Traceback" not in done.err, done.err

    def learn_of_copies(self) -> None:
        """Notes that the program made: of what was taken out or came back, and of the other versions of conflicts."""
        for machine in self.machines:
            for id, path in machine.files().items():
                if id not in self.notes:
                    text = path.read_text()
                    self.notes[id] = Note(
                        machine.user, {"", *re.findall("^space: (core)$", text, re.MULTILINE)}, words(text)
                    )

    # What must hold.

    def check_what_machines_hold(self) -> None:
        for machine in self.machines:
            denied = {word for word in machine.holds() if machine.user not in self.may[word]}
            assert denied == set(), f"on {machine.name}"

    def converge(self) -> None:
        for _ in range(_ROUNDS):
            for machine in self.machines:
                self.sync(machine)
                self.learn_of_copies()
                self.check_what_machines_hold()
        at_the_hub = self.live_in_core()
        for id, note in self.notes.items():
            place = "core" if id in at_the_hub else ""
            if note.is_taken_out and not note.is_shared:
                assert place == "", f"{id} was taken out"
            assert place in note.places or not place, f"{id} was never in core"
            note.places, note.is_shared, note.is_taken_out = {place}, False, False
        self.check_what_the_hub_gives(at_the_hub)
        self.check_what_is_granted(at_the_hub)

    def live_in_core(self) -> set[str]:
        with administrator(self.hub.database) as db:
            query = (
                "SELECT notes.id FROM anamnesis.notes JOIN anamnesis.spaces ON spaces.id = space "
                "WHERE name = 'core' AND NOT deleted"
            )
            return {str(row["id"]) for row in db.execute(query)}

    def check_what_the_hub_gives(self, in_core: set[str]) -> None:
        """To a member: the notes of their spaces and the history of these, and of no other."""
        for user, client in self.clients.items():
            mine = {id for id, note in self.notes.items() if note.owner == user}
            readable = mine | (in_core if user in self.members else set())
            allowed = {word for id in readable for word in self.notes[id].words} | {
                word for word in self.may if word.startswith(user)
            }
            for what, text in self.asked(client):
                assert {word for word in words(text) if word not in allowed or user not in self.may[word]} == set(), (
                    f"{user} gets it from {what}"
                )

    def asked(self, client: Client) -> Iterator[tuple[str, bytes]]:
        yield "the export", client("/v1/export").body
        for id in self.notes:
            versions = client(f"/v1/spaces/core/notes/{id}/versions")
            if versions.status == 200:
                for version in versions.json["versions"]:
                    path = f"/v1/spaces/core/notes/{id}/versions/{version['version']}"
                    yield path, client(path).body
        for word in self.chance.sample(sorted(self.may), min(10, len(self.may))):
            yield f"a search for {word}", client(f"/v1/search?q={word}").body
            yield "its tools", self.by_tool(client, word)

    def by_tool(self, client: Client, word: str) -> bytes:
        call: dict[str, Any] = {"name": "memory_search", "arguments": {"query": word}}
        answer = client("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        return answer.body.replace(f'"query":"{word}"'.encode(), b"")

    def check_what_is_granted(self, in_core: set[str]) -> None:
        """All members have what is in their space, and a user every word of theirs that nobody removed."""
        files = {machine.name: machine.files() for machine in self.machines}
        for id in in_core & self.notes.keys():
            texts = {each.name: files[each.name][id].read_bytes() for each in self.machines if id in files[each.name]}
            assert {each.name for each in self.machines if each.user in self.members} <= texts.keys(), id
            assert len(set(texts.values())) == 1, texts
        for user in {machine.user for machine in self.machines}:
            own = {word for word in self.living if word.startswith(user)}
            held = set().union(*(each.holds() for each in self.machines if each.user == user))
            assert own - held == set(), f"{user} has lost it"


@pytest.mark.timeout(3600)
def test_nobody_sees_what_was_not_given_to_them(running: RunningHub, person: People, tmp_path: Path) -> None:
    seed = at_length(SEED, random.randrange(1 << 32))
    print(json.dumps({"seed": seed}))
    clients = {name: running.user(name, core="writer") for name in ("ann", "bob")}
    clients["cyd"] = running.user("cyd")
    remote = str(bare(tmp_path / "remote.git"))
    machines = []
    for name, user, git in (("desk", "ann", remote), ("lap", "ann", remote), ("bobs", "bob", ""), ("cyds", "cyd", "")):
        machine = Machine(name, user, person(name))
        if git:
            assert machine.run("config", "set", "remote", git).code == 0
        machine.run.login(running, clients[user].token)
        machines.append(machine)
    Walk(running, machines, clients, random.Random(seed)).run(at_length(200, 2_000))
