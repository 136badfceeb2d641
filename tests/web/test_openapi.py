"""The OpenAPI document describes what the daemon accepts and answers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.web.daemon import Daemon

# Not checked: what Engram's own behaviour forbids. It takes a number for a limit that is none, refuses 1.0 for a whole
# number, and names in `Allow` what the wildcard beside a literal path would take.
CHECKS = (
    "only_recorded_failures",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "missing_required_header",
)


def test_schemathesis_finds_nothing_that_the_document_does_not_say(daemon: Daemon, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")),
            *("run", f"http://127.0.0.1:{daemon.port}/openapi.json", "--checks", ",".join(CHECKS)),
            *("--phases", "coverage,fuzzing", "--max-examples", "15", "--request-timeout", "10", "--no-color"),
        ],
        cwd=tmp_path,
        env={
            "SCHEMATHESIS_HOOKS": "tests.web.schemathesis_checks",
            "PYTHONPATH": str(Path.cwd()),
            "HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr


def test_every_route_is_described_once_and_has_a_name_of_its_own(daemon: Daemon) -> None:
    document = json.loads(daemon.ask("GET", "/openapi.json").body)
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations) == 34
    assert all(operation["summary"].endswith(".") for operation in operations)


def test_the_page_about_http_has_every_route_and_no_other(daemon: Daemon) -> None:
    page = (Path(__file__).parent.parent.parent / "docs/http-api.md").read_text("utf-8")
    document = json.loads(daemon.ask("GET", "/openapi.json").body)
    described = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert set(re.findall(r"^\| `([A-Z]+ /[^`]*)` \|", page, re.MULTILINE)) == described | {"POST /mcp"}
