"""Plays the real clients against the stand-in: `python -m tests.clients.play [HOST ...] [--latest] [--record]`.

Installs each into the cache folder, plays it without a network, prints the outcome of each scene, and what changed
against last-run.json. The exit code is 1 if a scene fails that did not fail in the recorded run.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.clients import isolation, recording, results
from tests.clients.host import Host
from tests.clients.installing import NotInstalled, Package, install, newest, pinned
from tests.clients.results import Result
from tests.clients.scenes import FAILED, Play, play_all
from tests.clients.stage import Stage, staged

_ROOT = Path(__file__).parent.parent.parent
_HOSTS = Path(__file__).with_name("hosts")


def main() -> int:
    asked = _arguments()
    if asked.inside:
        return _play_inside(asked.hosts[0], Path(asked.inside), asked)
    known = results.read() if results.FILE.exists() else {}
    if not isolation.is_possible():
        print("This system cannot isolate the clients: only settings and the proxy keep them off the network.")
    played: dict[str, Result] = {}
    for name in asked.hosts or hosts():
        result = _play(name, asked)
        if result is None:
            continue
        played[name] = result
        _print(name, result, known.get(name))
    if asked.record:
        results.record(played)
    return int(any(results.is_worse(known.get(name), result) for name, result in played.items()))


def hosts() -> list[str]:
    """The clients that have a module."""
    return sorted(_name(path) for path in _HOSTS.glob("[a-z]*.py"))


def host(name: str) -> Host:
    """A client's declaration."""
    stem = next(path.stem for path in _HOSTS.glob("[a-z]*.py") if _name(path) == name)
    found: Host = importlib.import_module(f"tests.clients.hosts.{stem}").HOST
    return found


def _name(path: Path) -> str:
    return path.stem.rstrip("_").replace("_", "-")


def _play(name: str, asked: argparse.Namespace) -> Result | None:
    """Install a client and play it in a separate process; None if it cannot be installed."""
    package = pinned().get(name)
    try:
        package = newest(package) if package and asked.latest else package
        folder = install(package) if package else Path()
    except NotInstalled as error:
        print(f"{name}: not played: {error}")
        return None
    inside = [f"--inside={folder if package else '/'}", f"--keep={asked.keep}", *(["--record"] if asked.record else [])]
    words = [sys.executable, "-m", "tests.clients.play", name, *inside]
    done = subprocess.run(isolation.isolated(words), cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: the run was aborted")
    return results.parsed({**_label(package), "scenes": json.loads(done.stdout)})


def _play_inside(name: str, programs: Path, asked: argparse.Namespace) -> int:
    """Play a client and print its scenes as JSON."""
    isolation.bring_loopback_up()
    with staged(host(name), programs) as stage:
        try:
            scenes = play_all(Play(stage, is_found=programs != Path("/")))
        finally:
            if asked.keep:
                _keep(stage, Path(asked.keep) / name)
        if asked.record and stage.model.questions:
            recording.write(name, stage.model.questions, stage.root)
        for stranger in sorted(set(stage.model.strangers)):
            print(f"{name} asked for {stranger}", file=sys.stderr)
        for command in filter(None, stage.end_all()):
            print(f"{name} left a process behind: {command}", file=sys.stderr)
    print(json.dumps({each: [outcome.mark, outcome.reason] for each, outcome in scenes.items()}))
    return 0


def _keep(stage: Stage, folder: Path) -> None:
    """Copy the home, and write each request and the output of each command, to look at them."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(stage.root, folder, symlinks=True, ignore=shutil.ignore_patterns("*.sock", "*.socket"))
    for number, question in enumerate(stage.model.questions, 1):
        text = json.dumps(question.body, indent=1, ensure_ascii=False)
        (folder / f"{number:03d}-{question.dialect}.json").write_text(text, encoding="utf-8")
    log = [f"$ {' '.join(words)}\n{ended.out}{ended.err}\n= {ended.status}\n" for words, ended in stage.log]
    (folder / "commands.log").write_text("\n".join(log), encoding="utf-8")


def _label(package: Package | None) -> dict[str, str]:
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    if package is None:
        return {"package": "", "version": "", "date": today}
    return {"package": f"{package.registry} {package.name}", "version": package.version, "date": today}


def _print(name: str, result: Result, known: Result | None) -> None:
    print(f"{name} {result.version}")
    for scene, outcome in result.scenes.items():
        print(f"  {outcome.mark} {scene}{f': {outcome.reason}' if outcome.reason else ''}")
    for line in results.changes(known, result) if known else ():
        print(f"  changed: {line}")
    failed = sum(outcome.mark == FAILED for outcome in result.scenes.values())
    if failed:
        print(f"  {failed} of {len(result.scenes)} scenes failed")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make clients", description=__doc__)
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="clients to play; all if none is named")
    parser.add_argument("--latest", action="store_true", help="play the newest versions instead of the pinned ones")
    parser.add_argument("--record", action="store_true", help="write the outcome to last-run.json")
    parser.add_argument(
        "--keep", default="", metavar="FOLDER", help="leave the home, the requests and the outputs there"
    )
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
