"""The daemon as an agent of launchd, which restarts it at most every ten seconds."""

from __future__ import annotations

import plistlib
from pathlib import Path

from anamnesis.service import Service, Start

_LABEL = "anamnesis.daemon"
_THROTTLE_SECONDS = 10


def service(start: Start, user_home: Path, user_id: int) -> Service:
    """The service for the user with this home folder and number."""
    path = user_home / "Library/LaunchAgents" / f"{_LABEL}.plist"
    log = user_home / "Library/Logs/anamnesis.log"
    content = {
        "Label": _LABEL,
        "ProgramArguments": start.command,
        "EnvironmentVariables": dict(start.variables),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": _THROTTLE_SECONDS,
        "ProcessType": "Background",
        "Umask": 0o077,
        "StandardOutPath": str(log),
        "StandardErrorPath": str(log),
    }
    domain = f"gui/{user_id}"
    return Service(
        "launchd",
        {path: plistlib.dumps(content)},
        enable=(("launchctl", "bootstrap", domain, str(path)),),
        disable=(("launchctl", "bootout", f"{domain}/{_LABEL}"),),
        is_active=("launchctl", "print", f"{domain}/{_LABEL}"),
        logs=f"tail -f {log}",
    )
