"""Pages about the whole memory: projects, trash, health and settings."""

from __future__ import annotations

from anamnesis.config import READ_BY_HOOKS, change_config, read_anew, read_config, saved_sentence, setting
from anamnesis.errors import InvalidArgument, StoreUnavailable
from anamnesis.setting import ResolvedSetting
from anamnesis.store.deleted import deleted_notes
from anamnesis.sync.remote import without_password
from anamnesis.web.lanes import Lane
from anamnesis.web.ui.action import Action, FormInput, NextPage
from anamnesis.web.ui.view import Data, PageRequest, Site, View

# The maximum age of results of checks, for instance for a second tab.
_FRESH_SECONDS = 2.0


def _projects(site: Site, _request: PageRequest) -> Data:
    by_project = site.vault.notes.stats().by_project
    return {"projects": sorted(([name, count] for name, count in by_project.items()), key=lambda pair: -pair[1])}


def _trash(site: Site, _request: PageRequest) -> Data:
    return {"notes": [each.shown() for each in deleted_notes(site.vault.notes)]}


def _health(site: Site, _request: PageRequest) -> Data:
    checks = site.background
    found = [*checks.memory.result(_FRESH_SECONDS), *checks.agents.result(_FRESH_SECONDS).findings]
    return {"findings": [{"subject": each.subject, "fault": each.fault, "fix": each.fix} for each in found]}


def _settings(site: Site, _request: PageRequest) -> Data:
    """The values in force, and the current ones of config.json, which a daemon reads when it starts."""
    try:
        saved, fault = read_config(site.settings.home), ""
    except StoreUnavailable as error:
        saved, fault = {}, error.message
    found = {each.setting.name: each for each in site.settings.found}
    found |= {name: read_anew(site.settings, name) for name in READ_BY_HOOKS}
    return {"settings": [_setting(each, saved.get(name)) for name, each in found.items()], "fault": fault}


def _setting(found: ResolvedSetting, saved: object) -> Data:
    """A setting. Secrets, also in addresses, are neither shown nor changed here."""
    setting, holds_secret = found.setting, found.setting.is_secret or _has_secret(found.value) or _has_secret(saved)
    return {
        "name": setting.name,
        "value": without_password(found.shown) if found.shown else None,
        "source": found.source,
        "fault": without_password(found.fault),
        "purpose": setting.purpose,
        "variable": setting.variable,
        "saved": None if holds_secret else saved,
        "can_change": not holds_secret,
    }


def _has_secret(value: object) -> bool:
    return isinstance(value, str) and without_password(value) != value


def _change_setting(site: Site, form: FormInput) -> NextPage:
    """Check and save a setting; an empty value removes it."""
    name, value = form.path["name"], form.text("value").strip()
    if setting(name).is_secret:
        raise InvalidArgument(f"{name} is a secret.", f"Set it on a terminal: anamnesis config set {name} VALUE")
    change_config(site.settings.home, name, value or None)
    return NextPage("settings", saved_sentence(read_anew(site.settings, name), is_removed=not value))


VIEWS = (
    View("/projects", "projects.html", _projects),
    View("/trash", "trash.html", _trash),
    View("/health", "health.html", _health, Lane.GIT),
    View("/settings", "settings.html", _settings),
)
ACTIONS = (Action("/settings/{name}", _change_setting),)
