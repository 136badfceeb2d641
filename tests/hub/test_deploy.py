"""The files in deploy/ agree with the program, give each container what it needs and no more, and hold no secret."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from tests.hub.running import Client
from tests.hub.test_processes import served

from anamnesis import __version__
from anamnesis.cli.hub_data import audit_command, backup_command
from anamnesis.cli.hub_serve import serve_command
from anamnesis.cli.hub_setup import init_command
from anamnesis.config import HUB_DATABASE, HUB_KEY, HUB_SERVER, HUB_VARIABLES
from anamnesis.hub.app import routes
from anamnesis.hub.serving import DEFAULT_PORT

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMMANDS = {"serve": serve_command, "init": init_command, "backup": backup_command, "audit": audit_command}
IMAGE = f"anamnesis-hub:{__version__}"
# An image by version and digest.
PINNED = re.compile(r"[a-z0-9./-]+:\d[\w.-]*@sha256:[0-9a-f]{64}")
WORKLOADS = ("Job", "Deployment", "CronJob")


def kubernetes() -> dict[str, Any]:
    documents = [each for each in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8")) if each]
    assert all({"apiVersion", "kind", "metadata"} <= each.keys() for each in documents)
    return {each["kind"]: each for each in documents}


def pod(found: dict[str, Any], kind: str) -> dict[str, Any]:
    spec = found[kind]["spec"]
    template: dict[str, Any] = (spec["jobTemplate"]["spec"] if kind == "CronJob" else spec)["template"]["spec"]
    return template


def container(found: dict[str, Any], kind: str) -> dict[str, Any]:
    (only,) = pod(found, kind)["containers"]
    return dict(only)


def compose() -> dict[str, dict[str, Any]]:
    services: dict[str, dict[str, Any]] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]
    return services


def parsed(words: list[str]) -> click.Context:
    """The words are a command of the hub with options that it has."""
    name, *options = words
    return COMMANDS[name].make_context(name, ["--database", "postgresql://x", *options])


def in_shell(command: list[str], name: str = "") -> list[str]:
    """The words after `anamnesis hub` in a command for the shell, on a Monday; of a command of this name."""
    (words,) = re.findall(rf"anamnesis hub ({name}[^;>]*)", command[-1].replace("`date +%u`", "1"))
    return shlex.split(words)


def test_the_manifest_of_kubernetes_runs_the_server_and_asks_how_it_is() -> None:
    found = kubernetes()
    assert set(found) == {*WORKLOADS, "PersistentVolumeClaim", "Service", "PodDisruptionBudget"}
    template = found["Deployment"]["spec"]["template"]
    labels = template["metadata"]["labels"]
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == found["Service"]["spec"]["selector"] == labels
    server, migration = container(found, "Deployment"), container(found, "Job")
    assert server["ports"][0]["containerPort"] == DEFAULT_PORT
    assert parsed(server["args"]).params["behind_proxy"] is True
    parsed(migration["args"])
    paths = {each.path for each in routes()}
    assert {server[f"{probe}Probe"]["httpGet"]["path"] for probe in ("liveness", "readiness")} <= paths
    assert template["metadata"]["annotations"]["prometheus.io/path"] in paths


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_container_in_kubernetes_is_closed_limited_and_of_this_version(kind: str) -> None:
    found = kubernetes()
    each = container(found, kind)
    assert each["image"] == IMAGE
    closed = each["securityContext"]
    assert (closed["allowPrivilegeEscalation"], closed["readOnlyRootFilesystem"]) == (False, True)
    assert closed["capabilities"] == {"drop": ["ALL"]}
    assert pod(found, kind)["securityContext"]["runAsNonRoot"] is True
    assert pod(found, kind)["automountServiceAccountToken"] is False
    assert each["resources"]["limits"].keys() == each["resources"]["requests"].keys() == {"cpu", "memory"}
    assert all(
        volume["emptyDir"]["sizeLimit"] for volume in pod(found, kind).get("volumes", []) if "emptyDir" in volume
    )
    assert {given["name"] for given in each["env"]} <= HUB_VARIABLES.keys()


def test_in_kubernetes_the_server_has_a_login_of_its_own_and_the_backup_no_key() -> None:
    secrets = {
        kind: {each["name"]: each["valueFrom"]["secretKeyRef"]["name"] for each in container(kubernetes(), kind)["env"]}
        for kind in WORKLOADS
    }
    assert secrets == {
        "Job": {
            HUB_DATABASE: "anamnesis-hub-owner",
            HUB_SERVER: "anamnesis-hub-owner",
            HUB_KEY: "anamnesis-hub-key",
        },
        "Deployment": {HUB_DATABASE: "anamnesis-hub-server", HUB_KEY: "anamnesis-hub-key"},
        "CronJob": {HUB_DATABASE: "anamnesis-hub-owner"},
    }


def test_the_job_of_a_version_has_a_name_of_its_own() -> None:
    """The template of a job cannot be changed: the next version's would be refused."""
    name = kubernetes()["Job"]["metadata"]["name"]
    assert name == f"anamnesis-hub-migrate-{re.sub('[^a-z0-9]', '-', __version__)}"


def test_both_run_a_backup_a_day_into_a_volume_and_keep_a_week_with_an_hourly_log() -> None:
    found, service = kubernetes(), compose()["backup"]
    job = container(found, "CronJob")
    for command in (job["command"], service["entrypoint"]):
        assert str(parsed(in_shell(command, "backup")).params["file"]) == "/backups/hub-1.zip"
        log = parsed(in_shell(command, "audit")).params
        assert (log["with_notes"], log["as_json"], log["limit"]) == (False, True, 100_000)
        assert ">/backups/log.part && mv /backups/log.part /backups/log.json" in command[-1]
    assert job["volumeMounts"] == [{"name": "backups", "mountPath": "/backups"}]
    (claim,) = (each["persistentVolumeClaim"]["claimName"] for each in pod(found, "CronJob")["volumes"])
    assert claim == found["PersistentVolumeClaim"]["metadata"]["name"]
    assert (found["CronJob"]["spec"]["schedule"], service["volumes"]) == ("17 * * * *", ["backups:/backups"])
    assert "`seq 24`" in service["entrypoint"][-1] and "sleep 3600" in service["entrypoint"][-1]
    assert "test `date +%H` != 03 ||" in job["command"][-1]


def test_the_compose_file_starts_a_database_migrates_it_and_serves_on_loopback() -> None:
    services = compose()
    assert set(services) == {"database", "admin", "hub", "backup"}
    assert services["hub"]["ports"] == [f"127.0.0.1:{DEFAULT_PORT}:{DEFAULT_PORT}"]
    for name in ("hub", "backup"):
        assert services[name]["depends_on"] == {"admin": {"condition": "service_completed_successfully"}}
    parsed(services["admin"]["command"])
    (path,) = re.findall(r"127\.0\.0\.1:8437(/\w+)'", services["hub"]["healthcheck"]["test"][-1])
    assert path in {each.path for each in routes()}


@pytest.mark.parametrize("name", ["database", "admin", "hub", "backup"])
def test_a_container_of_the_compose_file_is_closed_and_limited(name: str) -> None:
    service = compose()[name]
    assert {"mem_limit", "cpus", "pids_limit"} <= service.keys()
    assert service["security_opt"] == ["no-new-privileges:true"]
    if name == "database":
        assert PINNED.fullmatch(service["image"])
    else:
        assert (service["image"], service["read_only"], service["cap_drop"]) == (IMAGE, True, ["ALL"])
        assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()


def test_each_container_gets_its_own_secrets_and_the_database_no_key(tmp_path: Path) -> None:
    shutil.copy(DEPLOY / "secrets.sh", tmp_path)
    subprocess.run(["sh", str(tmp_path / "secrets.sh")], check=True)
    written = {file.name: file.read_text("utf-8") for file in tmp_path.glob("*.env")}
    assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.glob("*.env"))
    again = subprocess.run(["sh", str(tmp_path / "secrets.sh")], capture_output=True, text=True, check=False)
    assert (again.returncode, again.stderr) == (1, "database.env is there already: move it away first.\n")
    assert written == {file.name: file.read_text("utf-8") for file in tmp_path.glob("*.env")}

    def given(service: str) -> dict[str, str]:
        files = compose()[service]["env_file"]
        lines = "".join(written[each] for each in ([files] if isinstance(files, str) else files)).splitlines()
        return dict(line.split("=", 1) for line in lines)

    owner, server = given("admin")[HUB_DATABASE], given("hub")[HUB_DATABASE]
    assert given("database").keys() == {"POSTGRES_PASSWORD", "HUB_OWNER_PASSWORD"}
    assert given("admin") == {HUB_DATABASE: owner, HUB_SERVER: server, HUB_KEY: given("hub")[HUB_KEY]}
    assert given("hub").keys() == {HUB_DATABASE, HUB_KEY}
    assert given("backup") == {HUB_DATABASE: owner}
    assert (owner.partition(":")[2].split(":")[0], server.partition(":")[2].split(":")[0]) == (
        "//hub_owner",
        "//hub_server",
    )
    assert given("database")["HUB_OWNER_PASSWORD"] in owner and given("database")["POSTGRES_PASSWORD"] not in owner
    assert len({*re.findall("[0-9a-f]{64}", str(written))}) == 4


def test_the_server_needs_no_home_and_writes_no_file(hub_url: str, tmp_path: Path) -> None:
    """As on a read-only file system: nothing is there, and nothing is made."""
    home = tmp_path / "missing"
    with served(hub_url, home) as (url, process):
        assert Client(url, "")("/readyz").json == {"status": "ready"}
        process.terminate()
        assert process.wait(60) == 0
    assert not home.exists()


def instructions() -> list[tuple[str, str]]:
    text = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line.partition(" ") for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, value) for name, _, value in lines]


def test_the_image_runs_the_server_as_nobody_in_particular() -> None:
    last = dict(instructions())
    assert last["USER"] == "10001"
    assert yaml.safe_load(last["ENTRYPOINT"]) == ["anamnesis", "hub"]
    parsed(yaml.safe_load(last["CMD"]))


def test_the_image_is_built_from_this_source_on_a_pinned_base_and_installs_nothing_without_its_hash() -> None:
    bases = [value.split()[0] for name, value in instructions() if name == "FROM"]
    assert PINNED.fullmatch(bases[0]) and {*bases[1:]} == {"python"}  # the first stage
    installs = re.findall(r"pip install (.*)", "\n".join(value for _, value in instructions()))
    assert len(installs) == 2
    for each in installs:
        assert "--require-hashes" in each or ("--no-index" in each and "--no-deps" in each), each


@pytest.mark.parametrize("name", ["compose.yaml", "kubernetes.yaml", "Dockerfile", "secrets.sh", "owner.sql"])
def test_no_file_names_a_variable_that_nobody_reads_or_holds_a_secret_or_a_moving_image(name: str) -> None:
    text = (DEPLOY / name).read_text("utf-8")
    assert set(re.findall(r"ANAMNESIS_HUB_[A-Z_]+", text)) <= HUB_VARIABLES.keys()
    assert not re.search(r"^(?!#).*(?:PASSWORD|KEY): *[\"']?\w", text, re.MULTILINE)
    assert all(shlex.split(line[1:]) for line in re.findall(r"^# Then: (.*)", text, re.MULTILINE))
    assert ":latest" not in text
    assert {*re.findall(r"anamnesis-hub:([\w.]+)", text)} <= {__version__}
