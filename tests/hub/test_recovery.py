"""A database that was recovered to an earlier moment has lost versions that clients have: its history has another name.

Clients that see another name compare all notes, and send what the hub has lost.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

from click.testing import CliRunner
from tests.hub.running import RunningHub, text_of
from tests.postgres import Postgres, binaries
from tests.waiting import wait_until

from anamnesis.cli import anamnesis
from anamnesis.hub.database import administrator


def test_a_recovery_to_an_earlier_moment_names_another_history_and_a_restart_does_not() -> None:
    own = Postgres(binaries())  # one that may be stopped
    data, saved = own.folder / "data", own.folder / "saved"
    try:
        database = own.new_hub()
        with RunningHub(database) as hub:
            you = hub.user("you")
            you.put("~you", "N1", text_of("N1"))
            before = you("/v1/me").json["hub"]
        own.stop()
        subprocess.run(["cp", "-a", data, saved], check=True)
        own.start()
        with RunningHub(database) as hub:
            you.url = hub.url
            assert you.put("~you", "N2", text_of("N2"))["version"] == 2  # what the recovery loses
        own.stop(signal.SIGQUIT)
        own.start()
        with RunningHub(database) as hub:
            you.url = hub.url
            assert you("/v1/me").json["hub"] == before
        own.stop()
        shutil.rmtree(data)
        saved.rename(data)
        subprocess.run(["cp", "-a", data / "PG_VERSION", data / "recovery.signal"], check=True)
        own.settings["restore_command"] = "false"
        own.start()
        with RunningHub(database) as hub:
            you.url = hub.url
            wait_until(lambda: you("/v1/me").status != 503)  # while PostgreSQL recovers, the history is not known
            after = you("/v1/sync", {"machine": "desk"}).json
            assert after["spaces"]["~you"]["seq"] == 1
            assert after["hub"] == you("/v1/me").json["hub"] == f"{before}.2"
    finally:
        own.remove()


def test_the_administrator_can_name_another_history(hub_url: str, tmp_path: Path) -> None:
    """After a recovery that PostgreSQL cannot tell, such as that of a dump."""
    variables = {"ANAMNESIS_HOME": str(tmp_path), "ANAMNESIS_HUB_DATABASE": hub_url}
    with RunningHub(hub_url) as hub:
        you = hub.user("you")
        before = you("/v1/me").json["hub"]
        done = CliRunner(env=variables).invoke(anamnesis, ["hub", "new-history"])
        assert done.exit_code == 0, done.exception
        after = you("/v1/me").json["hub"]
    assert before != after == done.stdout.strip()
    with administrator(hub_url) as db:
        (entry,) = db.execute("SELECT target FROM anamnesis.audit WHERE action = 'hub new history'")
    assert entry["target"] == before
