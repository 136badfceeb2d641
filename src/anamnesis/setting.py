"""Settings: their names, the checks of their values, and the value in force with its source."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from anamnesis.errors import InvalidArgument

# The default of a setting that has no value.
NONE = "none"
_LEAST_TOKEN = 16
# Invalid values of these raise an error where they are used; any other setting falls back to its default.
_REFUSED_IN_USE = ("machine_id", "remote", "token")
# Returns a value as it is stored; raises if it is invalid.
Rule = Callable[[str], str]


def machine_name(text: str) -> str:
    if not re.fullmatch(r"[\w.-]{1,64}", text):
        raise InvalidArgument(
            f"{text!r} has invalid characters or is too long.",
            "Use up to 64 letters, digits, dots, dashes and underscores.",
        )
    return text


def git_remote(text: str) -> str:
    """A git remote that git cannot mistake for an option or a command."""
    if text.startswith("-") or "::" in text or not text.isprintable() or not text.strip():
        raise InvalidArgument(
            f"{text!r} is not the address of a git repository.",
            "Use a form like git@host:notes.git, https://host/notes.git or /path/to/notes.git.",
        )
    return text


def secret_token(text: str) -> str:
    if len(text) < _LEAST_TOKEN or not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidArgument(
            "cannot be used.", f"It needs at least {_LEAST_TOKEN} letters, digits or signs, and no blanks."
        )
    return text


def line_of_text(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise InvalidArgument("is empty, or not a line of text.")  # it may be a secret
    return text


def web_address(text: str) -> str:
    if not text.startswith(("https://", "http://")) or not text.isprintable():
        raise InvalidArgument(f"{text!r} is not an http or https address.")
    return text


def whole_number(least: int, most: int) -> Rule:
    def check(text: str) -> str:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise InvalidArgument(f"{text!r} is not a whole number from {least} to {most}.")
        return text

    return check


def one_of(*values: str) -> Rule:
    def check(text: str) -> str:
        if text not in values:
            raise InvalidArgument(f"{text!r} is not one of {', '.join(values)}.")
        return text

    return check


class Setting(NamedTuple):
    """One setting: its key in config.json, its variable, its purpose, its default, and the check of a value."""

    name: str
    variable: str
    purpose: str
    default: str
    rule: Rule = str
    is_secret: bool = False

    def check(self, text: str) -> str:
        """A value as it is stored; the error of an invalid one names the setting."""
        try:
            return self.rule(text)
        except InvalidArgument as error:
            raise InvalidArgument(f"{self.name} {error.message}", error.hint) from error


class ResolvedSetting(NamedTuple):
    """A setting's value and its source: the environment, config.json or the default."""

    setting: Setting
    value: str | None
    source: str

    @property
    def valid(self) -> str:
        """The value if its check accepts it, else the default."""
        return self.setting.default if self.fault else self.value or self.setting.default

    @property
    def fault(self) -> str:
        """Why the value cannot be used; "" if it can."""
        try:
            if self.value:
                self.setting.check(self.value)
        except InvalidArgument as error:
            return str(error)
        return ""

    @property
    def falls_back(self) -> bool:
        """Whether the default is in force because the value is invalid."""
        return self.setting.name not in _REFUSED_IN_USE and bool(self.fault)

    @property
    def shown(self) -> str | None:
        """The value in force as it may be shown, of a secret only the end; None if there is none."""
        if self.setting.is_secret:
            return f"...{self.value[-4:]}" if self.value else None
        value = self.setting.default if self.falls_back else self.value or self.setting.default
        return None if value == NONE else value
