"""The scenes, the same for all clients. Each is judged by the stand-in's requests and the files on disk."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.clients.exchange import Call, Question
from tests.clients.host import SUBAGENT_PROMPT, Failed
from tests.clients.stage import SECONDS, Ended, Stage, end_group
from tests.clients.standin import Part

PLAYED, LACKING, FAILED = "✓", "–", "✗"
# Some clients do not wait for the hooks at a session's end.
_PATIENCE = 20.0

NOTE = ("Ledger exports carry UTC timestamps", "The ledger export writes UTC timestamps. The reason is heliotrope.")
ASK = "Why are the timestamps of the ledger export two hours off for the bank?"
ANSWER = "Decision: the ledger export stays in UTC, because the quicksilver contract demands it.\nThe bank converts.\n"
SEARCH = Call("memory_search", {"query": "ledger export timestamps"})
WRITE = Call("memory_write", {"type": "semantic", "title": "The bank converts", "body": "It converts, says amaranth."})
AGAIN = "What did we decide about the time zone of the ledger export?"
AGAIN_ANSWER = "Decision: the ledger report is sent at noon, because vermilion closes early.\nNothing else changes.\n"
RESUMED = "And who signs the ledger report before it is sent?"
RESUMED_ANSWER = "Decision: the treasurer signs the ledger report, because celadon is not allowed to.\nThat is all.\n"
_SUMMARY = "The ledger report is sent at noon because of vermilion; celadon does not sign. "
COMPACTED_ANSWER = f"In short:\n<summary>{_SUMMARY * 12}</summary>\n"  # Qwen refuses a tag at once, Grok a short text
INTERRUPTED = "Rewrite the cinnabar importer of the ledger so that it reads both formats."
DELEGATED = "Let a helper count the files of the ledger project, then say what the umber folder is for."
DELEGATED_ANSWER = "Decision: the umber folder holds the archived ledgers, because nobody reads them.\nThat is all.\n"
SUBAGENT_ANSWER = "There are 2 files, says the palimpsest.\n"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a scene ended, with the reason if it was not played or failed, else a remark or nothing."""

    mark: str
    reason: str = ""


@dataclass(slots=True)
class Play:
    """State shared by the scenes of one client."""

    stage: Stage
    is_found: bool = True
    before: dict[Path, bytes] = field(default_factory=dict)
    changed: list[Path] = field(default_factory=list)
    first: list[Question] = field(default_factory=list)

    def session(self, part: Part, *commands: Sequence[str]) -> list[Question]:
        """Run the commands of a session, with the model in this part; returns the requests."""
        since = len(self.stage.model.questions)
        self.stage.model.play(part)
        for words in commands:
            ended = self.stage.run(words)
            if ended.status:
                raise Failed(ended.last_words)
        asked = self.stage.model.questions[since:]
        if not asked:
            raise Failed("the model received no request")
        return asked

    def start(self, prompt: str) -> Sequence[str]:
        assert self.stage.host.start
        return self.stage.host.start(self.stage, prompt)


def play_all(play: Play) -> dict[str, Outcome]:
    """Play every scene in its order."""
    return {name: _play_one(play, name, scene) for name, scene in SCENES.items()}


def _play_one(play: Play, name: str, scene: Callable[[Play], str | None]) -> Outcome:
    lacks = play.stage.host.lacks
    reason = lacks.get(name) or (lacks.get("sessions") if name in SESSIONS else None)
    if reason:
        return Outcome(LACKING, reason)
    try:
        return Outcome(PLAYED, scene(play) or "")
    except Failed as failed:
        return Outcome(FAILED, str(failed).replace(str(play.stage.root), "…"))
    finally:
        play.stage.model.play(Part())


def _init(play: Play) -> None:
    """`init` finds the client as a user has it, and sets it up."""
    stage = play.stage
    play.before = stage.files()
    ended = stage.anamnesis("init", *_words_of_init(play), "--local-only", "--json")
    if ended.status:
        raise Failed(ended.last_words)
    report = json.loads(ended.out)
    if stage.host.name not in [agent["name"] for agent in report["agents"]]:
        raise Failed("init does not find the client")
    play.changed = [Path(change["file"]) for change in report["changes"]]
    _succeed(stage.anamnesis("write", *NOTE))
    stage.host.allow(stage)


def _read_back(play: Play) -> None:
    """The client's own program reads the settings."""
    if play.stage.host.read_back is None:
        raise Failed("the module of this client does not say how")
    said = play.stage.host.read_back(play.stage)
    if "anamnesis" not in said:
        raise Failed(f"it does not name anamnesis: {' / '.join(said.splitlines()[-3:])}")


def _injection(play: Play) -> str:
    """A note is in the request before the model has called any tool."""
    part = Part(ANSWER, [SEARCH, WRITE])
    play.first = play.session(part, play.start(ASK))
    if not _is_in_context(play.first, _context_word(play)):
        raise Failed("the note is not in the request")
    return "" if play.stage.host.adds_context else "a line in its instructions, no note"


def _tools(play: Play) -> None:
    """The model searches and writes."""
    if not play.first:
        raise Failed("the first session did not run")
    answers = "\n".join(result for question in play.first for result in question.results)
    # Names that are only listed for a tool search count too; a client may spell one name in two ways.
    names = {name for question in play.first for name in re.findall(r"\w*memory_search\b", question.text)}
    offered = {re.sub(r"^mcp_+|_(?=_)", "", name) for name in names} - {"memory_search"}
    if len(offered) > 1:
        raise Failed(f"the tools are offered twice: {', '.join(sorted(offered))}")
    if "heliotrope" not in answers:
        raise Failed("memory_search did not answer" if names else "the tools are not offered to the model")
    if not any("amaranth" in text for text in play.stage.notes("semantic").values()):
        raise Failed("memory_write wrote no note")


def _capture(play: Play) -> None:
    """Exactly one note about the first session, with its substance."""
    if not play.first:
        raise Failed("the first session did not run")
    _expect_notes(play, 1, ASK, "quicksilver")


def _next_session(play: Play) -> str:
    """The second session receives the first one's decision, or finds it, and is captured itself."""
    adds_context = play.stage.host.adds_context
    asked = play.session(Part(AGAIN_ANSWER, [] if adds_context else [SEARCH]), play.start(AGAIN))
    found = "\n".join(result for question in asked for result in question.results)
    if not (_is_in_context(asked, "quicksilver") if adds_context else "quicksilver" in found):
        raise Failed(f"the note about the first session is not {'in the request' if adds_context else 'found'}")
    _expect_notes(play, 2, AGAIN, "vermilion")
    return "" if adds_context else "found by memory_search"


def _resume(play: Play) -> None:
    """The session continues, and its note is updated."""
    host = play.stage.host
    assert host.resume
    asked = play.session(Part(RESUMED_ANSWER), host.resume(play.stage, RESUMED))
    last = "quicksilver" if "next session" in host.lacks else "vermilion"
    if not any(last in question.text for question in asked):
        raise Failed("the request does not contain the session so far")
    _expect_notes(play, 2, AGAIN, "vermilion", "celadon")


def _compaction(play: Play) -> str:
    """A compacted session keeps its one note, and receives the notes again when it continues."""
    host, stage = play.stage.host, play.stage
    assert host.compact
    calls = [SEARCH] if host.compact_with_call else []
    asked = play.session(Part(COMPACTED_ANSWER, calls, tokens=host.compact_tokens), *host.compact(stage))
    if not any("summar" in question.text.lower() for question in asked):
        raise Failed("the client did not ask for a summary")
    _expect_notes(play, 2, AGAIN, "vermilion")
    if host.resume is None:
        return ""
    asked = play.session(Part("The report is signed.\n"), host.resume(stage, "Is the ledger report signed now?"))
    _expect_notes(play, 2, AGAIN)
    # The history may contain the result of a search.
    word = _context_word(play)
    found = [question.text.count(word) > "".join(question.results).count(word) for question in asked]
    return "" if any(found) else "the notes are not injected again"


def _interruption(play: Play) -> str:
    """After a session was interrupted or killed in the middle of an answer, the next one works."""
    count = len(play.stage.notes("episodic"))
    _interrupt(play, play.stage.host.interrupt)
    time.sleep(2)  # for hooks that the client does not wait for
    notes = play.stage.notes("episodic")
    captured = sum("cinnabar" in text for text in notes.values())
    if len(notes) - count != captured or captured > 1:
        raise Failed(f"{len(notes) - count} notes were written")
    _interrupt(play, signal.SIGKILL)
    asked = play.session(Part("Yes.\n"), play.start("Is the ledger export in order?"))
    if not _is_in_context(asked, _context_word(play)):
        raise Failed("the next session receives no note")
    if "capture" in play.stage.host.lacks:
        return ""
    again = sum("cinnabar" in text for text in play.stage.notes("episodic").values())
    return f"{('no note', 'one note', 'two notes')[again]} about the two interrupted sessions"


def _subagent(play: Play) -> None:
    """A subagent's prompt is not taken for the user's: the session has one note, about the user's ask."""
    host, stage = play.stage.host, play.stage
    count = len(stage.notes("episodic"))
    answer = host.subagent_end(SUBAGENT_ANSWER) if host.subagent_end else SUBAGENT_ANSWER
    part = Part(DELEGATED_ANSWER, list(host.subagent), {SUBAGENT_PROMPT: answer})
    asked = play.session(part, play.start(DELEGATED))
    if part.calls:
        raise Failed(f"the client does not offer {part.calls[0].tool}")
    if not any(SUBAGENT_ANSWER.strip() in question.text for question in asked if question.results):
        raise Failed("the answer of the subagent did not reach the session")
    _expect_notes(play, count + 1, DELEGATED, "archived")


def _doctor(play: Play) -> None:
    """`doctor` finds nothing."""
    ended = play.stage.anamnesis("doctor", "--json")
    faults = json.loads(ended.out)["faults"] if ended.out else [{"subject": "doctor", "fault": ended.last_words}]
    if faults:
        raise Failed("; ".join(f"{each['subject']}: {each['fault']}" for each in faults))


def _uninstall(play: Play) -> str:
    """Every file is restored; one that the client has rewritten since contains nothing of ours."""
    stage = play.stage
    _succeed(stage.anamnesis("uninstall", "--yes"))
    now = stage.files()
    rewritten = [path for path in play.changed if now.get(path) != play.before.get(path)]
    for path in rewritten:
        if b"anamnesis" in now.get(path, b""):
            raise Failed(f"{path.name} still names anamnesis")
    _succeed(stage.anamnesis("init", *_words_of_init(play), "--local-only"))
    _succeed(stage.anamnesis("uninstall", "--yes"))
    again = stage.files()
    other = [path for path in {*play.changed, *now} & again.keys() if now.get(path) != again[path]]
    ours = [path for path in other if path in play.changed or b"anamnesis" in again[path]]
    if ours:
        raise Failed(f"after init and uninstall, these differ: {', '.join(path.name for path in ours)}")
    written = ", ".join(sorted(path.name for path in rewritten))
    return f"the client itself has written {written} since" if written else ""


SCENES: dict[str, Callable[[Play], str | None]] = {
    "init": _init,
    "read back": _read_back,
    "injection": _injection,
    "tools": _tools,
    "capture": _capture,
    "next session": _next_session,
    "resume": _resume,
    "compaction": _compaction,
    "interruption": _interruption,
    "subagent": _subagent,
    "doctor": _doctor,
    "uninstall": _uninstall,
}
# A client without playable sessions has only the other scenes.
SESSIONS = tuple(name for name in SCENES if name not in ("init", "read back", "doctor", "uninstall"))


def _words_of_init(play: Play) -> list[str]:
    found = ["--yes"] if play.is_found else ["--agent", play.stage.host.name, "--yes"]
    return found if play.stage.host.adds_context else [*found, "--instructions"]


def _context_word(play: Play) -> str:
    """A word of the injected note, or of the line in the instructions."""
    return "heliotrope" if play.stage.host.adds_context else "your long-term memory"


def _is_in_context(asked: Sequence[Question], word: str) -> bool:
    """Whether the model has read a word without having called a tool."""
    return any(word in question.text for question in asked if not question.results)


def _expect_notes(play: Play, count: int, *substance: str) -> None:
    """Wait until there are exactly `count` session notes, one of them with all words of `substance`."""
    if "capture" in play.stage.host.lacks:
        return
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        notes = play.stage.notes("episodic").values()
        if len(notes) == count and any(all(word in text for word in substance) for text in notes):
            return
        time.sleep(0.2)
    notes = play.stage.notes("episodic").values()
    if len(notes) != count:
        raise Failed(f"there are {len(notes)} notes about sessions, not {count}")
    lacking = [word for word in substance if not any(word in text for text in notes)]
    raise Failed(f"no note about the session holds {' and '.join(lacking or substance)!r}")


def _interrupt(play: Play, sent: signal.Signals) -> None:
    """End a session while the model answers."""
    model = play.stage.model
    model.play(Part("The importer\nreads\nboth\nformats.\n" * 3, hangs=True))
    process = play.stage.start(play.start(INTERRUPTED))
    assert process.stdin
    process.stdin.close()
    process.stdin = None
    try:
        if not model.hanging.wait(SECONDS):
            raise Failed("the model was not asked")
        time.sleep(0.5)
        os.killpg(process.pid, sent)  # as a terminal does; some programs are scripts that start another one
        process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"it does not end at {sent.name}") from error
    finally:
        end_group(process)
        process.communicate()


def _succeed(ended: Ended) -> None:
    if ended.status:
        raise Failed(ended.last_words)
