"""Secrets in text: found by their shape or by the name before them, and replaced. Pure.

A doubtful token is hidden, a doubtful word stays: a missed secret is pushed to a remote, a hidden word is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BASE64 = r"[A-Za-z0-9+/]"
_SHORTEST = 16


def _body(least: int) -> str:
    """The rest of a token, to the end of its run, so that what follows it is never the start of another."""
    return rf"[\w-]{{{least - 1},}}[A-Za-z0-9]"


def _run(letters: str, count: int) -> str:
    return rf"{letters}{{{count}}}(?:[\w-]*[A-Za-z0-9])?"


def _alone(width: int, within: str = "[A-Za-z0-9]") -> str:
    """The prefix of this width begins a word; an escaped line end, colour or percent code may precede it."""
    before = (rf"(?<={code}.{{{width}}})" for code in (r"\\[nrt]", "%[0-9A-Fa-f]{2}", r"\[\dm", r"\[\d\dm"))
    return rf"(?:(?<!{within}.{{{width}}})|{'|'.join(before)})"


_HEX = "[0-9a-f]"
_ALNUM = "[A-Za-z0-9]"

# Kind, the literals a secret can begin with, and what follows them. An opening parenthesis around the
# literals keeps them in the text.
_PREFIXED = (
    ("anthropic-key", "sk-ant-", _body(16)),
    ("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", _body(16)),
    ("api-key", "sk-", _alone(3) + rf"(?:(?:or-v1|lf|kimi|ss)-{_body(20)}|{_run(_ALNUM, 20)})"),
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", _run(r"\w", 30) + r"(?:\.[\w-]{20,})*"),
    ("github-token", "github_pat_", _body(22)),
    (
        "gitlab-token",
        "glpat- gldt- glrt- glptt- glcbt- glft- glsoat- glimt- glagent- gloas-",
        _body(20) + r"(?:\.[0-9a-z]{2}\.[0-9a-z]{9})?",
    ),
    ("aws-key-id", "AKIA ASIA ABIA", _alone(4) + _run("[A-Z0-9]", 16)),
    ("google-key", "AIza", _body(30)),
    ("google-token", "ya29.", _body(20)),
    ("google-token", "1//0", _alone(4) + _body(30)),
    ("google-secret", "GOCSPX-", _body(20)),
    ("stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_", _run(_ALNUM, 10)),
    ("stripe-webhook", "whsec_", rf"{_BASE64}{{20,}}={{0,2}}"),
    ("slack-token", "xox", rf"[abceoprs]-{_body(10)}"),
    ("slack-token", "xapp-", rf"\d-{_body(16)}"),
    ("slack-webhook", "(hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/-]{16,}"),
    ("discord-webhook", "(/api/webhooks/", rf"\d{{5,}}/{_body(20)}"),
    ("teams-webhook", "(.webhook.office.com/webhookb2/", r"[\w@/-]{20,}"),
    ("jwt", "eyJ", _alone(3, r"[\w-]") + r"[\w-]{10,}+(?<=[Q90])\.[\w-]{8,}(?:\.{1,2}[\w-]+){0,3}"),
    ("npm-token", "npm_", _alone(4) + _run(_ALNUM, 30)),
    ("pypi-token", "pypi-AgE", _body(16)),
    ("huggingface-token", "hf_ api_org_", _alone(3) + _run(_ALNUM, 28)),
    ("sendgrid-key", "SG.", _alone(3) + rf"[\w-]{{16,32}}\.{_body(16)}"),
    ("twilio-key", "SK", _alone(2) + _run(_HEX, 32)),
    ("twilio-token", "AC", _alone(2) + rf"{_HEX}{{32}}:{_run(_HEX, 32)}"),
    ("azure-key", "(AccountKey= (SharedAccessKey= (SharedSecret=", rf"{_BASE64}{{20,}}={{0,2}}"),
    ("azure-signature", "(sig=", rf"{_BASE64[:-1]}%_-]{{24,}}={{0,2}}"),
    ("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", _run(_HEX, 32)),
    ("databricks-token", "dapi", _alone(4) + _run(_HEX, 32)),
    ("linear-key", "lin_api_ lin_oauth_", _run(_ALNUM, 30)),
    ("notion-token", "secret_ ntn_", _run(_ALNUM, 40)),
    ("shopify-token", "shpat_ shpca_ shppa_ shpss_", _run("[0-9a-fA-F]", 32)),
    ("age-key", "AGE-SECRET-KEY-1", _run("[A-Z0-9]", 40)),
    ("groq-key", "gsk_", _alone(4) + _run(_ALNUM, 40)),
    ("xai-key", "xai-", _alone(4) + _run(_ALNUM, 40)),
    ("perplexity-key", "pplx-", _run(_ALNUM, 40)),
    ("replicate-token", "r8_", _alone(3) + _run(_ALNUM, 35)),
    ("docker-token", "dckr_pat_", _body(20)),
    ("vault-token", "hvs. hvb.", _body(24)),
    ("tailscale-key", "tskey-", r"[a-z]+-" + _body(16)),
    ("grafana-token", "glsa_", _body(32)),
    ("figma-token", "figd_", _body(32)),
    ("supabase-token", "sbp_", _alone(4) + _run(_HEX, 40)),
    ("newrelic-key", "NRAK-", _run("[A-Z0-9]", 27)),
    ("atlassian-token", "ATATT3", rf"[\w=-]{{30,}}"),
    ("postman-key", "PMAK-", _body(40)),
    ("rubygems-key", "rubygems_", _run(_HEX, 40)),
    ("sentry-token", "sntrys_ sntryu_", rf"[\w+/=-]{{40,}}"),
    ("brevo-key", "xkeysib-", _body(40)),
    ("telegram-token", ":AA", ""),
)
