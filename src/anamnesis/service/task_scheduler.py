"""The daemon as a task of Windows that starts at logon. A task has only the account's variables."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.sax.saxutils import escape

from anamnesis.service import Service, Start

_NAME = "Anamnesis"
_TASK = """\
<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>Anamnesis, one memory for coding agents</Description></RegistrationInfo>
  <Triggers><LogonTrigger><Enabled>true</Enabled></LogonTrigger></Triggers>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>5</Count></RestartOnFailure>
  </Settings>
  <Actions>
    <Exec><Command>{program}</Command><Arguments>{arguments}</Arguments></Exec>
  </Actions>
</Task>
"""


def service(start: Start, home: Path) -> Service:
    """The service; the description of its task is a file in the memory's home."""
    path = home / "service.xml"
    program, *rest = start.command
    text = _TASK.format(program=escape(program), arguments=escape(subprocess.list2cmdline(rest)))
    task = "/TN", _NAME
    return Service(
        "task scheduler",
        {path: text.encode("utf-16")},
        enable=(("schtasks", "/Create", *task, "/XML", str(path), "/F"), ("schtasks", "/Run", *task)),
        disable=(("schtasks", "/End", *task), ("schtasks", "/Delete", *task, "/F")),
        is_active=("schtasks", "/Query", *task),
        logs="eventvwr /c:Microsoft-Windows-TaskScheduler/Operational",
    )
