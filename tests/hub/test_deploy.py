"""The files in deploy/ are well formed, agree with the program, and hold no secret."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from tests.hub.running import Client
from tests.hub.test_processes import served

from anamnesis.cli.hub_serve import serve_command
from anamnesis.cli.hub_setup import init_command
from anamnesis.config import HUB_VARIABLES
from anamnesis.hub.app import routes
from anamnesis.hub.serving import DEFAULT_PORT

DEPLOY = Path(__file__).parents[2] / "deploy"
COMMANDS = {"serve": serve_command, "init": init_command}


def kubernetes() -> dict[str, Any]:
    documents = [each for each in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8")) if each]
    assert all({"apiVersion", "kind", "metadata"} <= each.keys() for each in documents)
    return {each["kind"]: each for each in documents}


def parsed(words: list[str]) -> click.Context:
    """The words are a command of the hub with options that it has."""
    name, *options = words
    return COMMANDS[name].make_context(name, ["--database", "postgresql://x", *options])


def test_the_manifest_of_kubernetes_runs_the_server_and_asks_how_it_is() -> None:
    found = kubernetes()
    assert set(found) == {"Job", "Deployment", "Service", "PodDisruptionBudget"}
    pod = found["Deployment"]["spec"]["template"]
    labels = pod["metadata"]["labels"]
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == found["Service"]["spec"]["selector"] == labels
    (server,) = pod["spec"]["containers"]
    (migration,) = found["Job"]["spec"]["template"]["spec"]["containers"]
    assert server["ports"][0]["containerPort"] == DEFAULT_PORT
    assert parsed(server["args"]).params["behind_proxy"] is True
    parsed(migration["args"])
    paths = {each.path for each in routes()}
    assert {server[f"{probe}Probe"]["httpGet"]["path"] for probe in ("liveness", "readiness")} <= paths
    assert pod["metadata"]["annotations"]["prometheus.io/path"] in paths
    for container in (server, migration):
        assert {each["name"] for each in container["env"]} <= HUB_VARIABLES.keys()
        assert all("secretKeyRef" in each["valueFrom"] for each in container["env"])
        closed = container["securityContext"]
        assert (closed["allowPrivilegeEscalation"], closed["readOnlyRootFilesystem"]) == (False, True)
        assert closed["capabilities"] == {"drop": ["ALL"]}
    for each in ("Deployment", "Job"):
        assert found[each]["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"] is True


def test_the_compose_file_starts_a_database_migrates_it_and_serves_on_loopback() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]
    assert set(services) == {"database", "migrate", "hub"}
    assert services["hub"]["ports"] == [f"127.0.0.1:{DEFAULT_PORT}:{DEFAULT_PORT}"]
    assert services["hub"]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    parsed(services["migrate"]["command"])
    assert services["hub"]["read_only"] is services["migrate"]["read_only"] is True
    (path,) = re.findall(r"127\.0\.0\.1:8437(/\w+)'", services["hub"]["healthcheck"]["test"][-1])
    assert path in {each.path for each in routes()}


def test_the_server_needs_no_home_and_writes_no_file(hub_url: str, tmp_path: Path) -> None:
    """As on a read-only file system: nothing is there, and nothing is made."""
    home = tmp_path / "missing"
    with served(hub_url, home) as (url, process):
        assert Client(url, "")("/readyz").json == {"status": "ready"}
        process.terminate()
        assert process.wait(60) == 0
    assert not home.exists()


def test_the_image_runs_the_server_as_nobody_in_particular() -> None:
    lines = [line.partition(" ") for line in (DEPLOY / "Dockerfile").read_text("utf-8").splitlines() if line]
    instructions = {name: value for name, _, value in lines}
    assert instructions["USER"] == "10001"
    assert yaml.safe_load(instructions["ENTRYPOINT"]) == ["anamnesis", "hub"]
    parsed(yaml.safe_load(instructions["CMD"]))


@pytest.mark.parametrize("name", ["compose.yaml", "kubernetes.yaml", "Dockerfile"])
def test_no_file_names_a_variable_that_nobody_reads_or_holds_a_secret(name: str) -> None:
    text = (DEPLOY / name).read_text("utf-8")
    assert set(re.findall(r"ANAMNESIS_HUB_[A-Z_]+", text)) <= HUB_VARIABLES.keys()
    assert not re.search(r"^(?!#).*(?:PASSWORD|KEY): *[\"']?\w", text, re.MULTILINE)
    assert all(shlex.split(line[1:]) for line in re.findall(r"^# Then: (.*)", text, re.MULTILINE))
