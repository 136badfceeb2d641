"""The daemon as a user service of systemd, with a socket: a client that connects while it starts waits for it."""

from __future__ import annotations

from pathlib import Path

from anamnesis.service import Service, Start

_NAME = "anamnesis"
_UNITS = (f"{_NAME}.socket", f"{_NAME}.service")
_SOCKET = """\
[Unit]
Description=Port of Anamnesis

[Socket]
ListenStream=127.0.0.1:{port}

[Install]
WantedBy=sockets.target
"""
# systemd gives up after five failed starts in five minutes.
_SERVICE = """\
[Unit]
Description=Anamnesis, one memory for coding agents
Requires={name}.socket
After={name}.socket
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
ExecStart={command}
{variables}Restart=on-failure
RestartSec=2
UMask=0077

[Install]
WantedBy=default.target
"""


def service(start: Start, config: Path) -> Service:
    """The service for a user whose configuration folder is `config`."""
    command = " ".join(_quoted(word).replace("$", "$$") for word in start.command)
    variables = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in start.variables.items())
    units = _SOCKET.format(port=start.port), _SERVICE.format(name=_NAME, command=command, variables=variables)
    systemctl = "systemctl", "--user"
    return Service(
        "systemd",
        {config / "systemd/user" / name: text.encode() for name, text in zip(_UNITS, units, strict=True)},
        enable=((*systemctl, "daemon-reload"), (*systemctl, "enable", *_UNITS), (*systemctl, "start", *_UNITS)),
        disable=((*systemctl, "disable", *_UNITS), (*systemctl, "stop", *_UNITS)),
        is_active=(*systemctl, "is-active", "--quiet", _UNITS[1]),
        logs=f"journalctl --user --unit {_NAME}",
        after_removal=((*systemctl, "daemon-reload"), (*systemctl, "reset-failed", *_UNITS)),
    )


def _quoted(text: str) -> str:
    """A quoted word of a unit file, in which a percent sign begins a specifier."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'
