"""Secrets in a text, found by their shape or by the name before them, and replaced. Pure; linear in the text."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

_ALNUM = "[A-Za-z0-9]"
_HEX = "[0-9a-f]"
_BASE64 = "[A-Za-z0-9+/]{20,}={0,2}"


def _body(least: int) -> str:
    """A token to the end of its run: what follows can then not become a token because this one is gone."""
    return rf"[\w-]{{{least - 1},}}{_ALNUM}"


def _run(letters: str, least: int) -> str:
    return rf"{letters}{{{least}}}(?:[\w-]*{_ALNUM})?"


def _alone(width: int, within: str = _ALNUM) -> str:
    """The last `width` letters begin a word; an escaped line end, percent code or colour may stand before."""
    codes = (r"\\[nrt]", "%[0-9A-Fa-f]{2}", r"\[\dm", r"\[\d\dm")
    return rf"(?:(?<!{within}.{{{width}}})|{'|'.join(rf'(?<={code}.{{{width}}})' for code in codes)})"


# Kind, the literals with which such a secret begins, and what follows them.
_PREFIXED = (
    ("anthropic-key", "sk-ant-", _body(16)),
    ("openai-key", "sk-proj- sk-svcacct- sk-admin-", _body(16)),
    ("api-key", "sk-", _alone(3) + rf"(?:(?:or-v\d|lf|None)-{_body(20)}|{_run(_ALNUM, 20)})"),
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", _run(r"\w", 30) + r"(?:\.[\w-]{20,})*"),
    ("github-token", "github_pat_", _body(22)),
    ("gitlab-token", "glpat- gldt- glrt- glptt- glcbt- glsoat-", _body(20) + r"(?:\.\w{2}\.\w{9,})?"),
    ("aws-key-id", "AKIA ASIA ABIA", _alone(4) + _run("[A-Z0-9]", 16)),
    ("google-key", "AIza", _body(30)),
    ("google-token", "ya29.", _body(20)),
    ("google-token", "1//0", _alone(4) + _body(30)),
    ("google-secret", "GOCSPX-", _body(20)),
    ("stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_", _run(_ALNUM, 10)),
    ("stripe-webhook", "whsec_", _BASE64),
    ("slack-token", "xox", rf"[abceoprs]-{_body(10)}"),
    ("slack-token", "xapp-", rf"\d-{_body(16)}"),
    # The last letter of a JSON header, which ends in a brace, is one of three in base64.
    ("jwt", "eyJ", _alone(3, r"[\w-]") + r"[\w-]{10,}+(?<=[Q90])\.[\w-]{8,}(?:\.{1,2}[\w-]+){0,3}"),
    ("npm-token", "npm_", _alone(4) + _run(_ALNUM, 30)),
    ("pypi-token", "pypi-AgE", _body(16)),
    ("huggingface-token", "hf_", _alone(3) + _run(_ALNUM, 28)),
    ("sendgrid-key", "SG.", _alone(3) + rf"[\w-]{{16,32}}\.{_body(16)}"),
    ("twilio-key", "SK", _alone(2) + _run(_HEX, 32)),
    ("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", _run(_HEX, 32)),
    ("databricks-token", "dapi", _alone(4) + _run(_HEX, 32)),
    ("linear-key", "lin_api_ lin_oauth_", _run(_ALNUM, 30)),
    ("notion-token", "secret_ ntn_", _run(_ALNUM, 40)),
    ("shopify-token", "shpat_ shpca_ shppa_ shpss_", _run("[0-9a-fA-F]", 32)),
    ("age-key", "AGE-SECRET-KEY-1", _run("[A-Z0-9]", 40)),
    ("api-token", "gsk_ xai- pplx- r8_ sbp_ rubygems_ NRAK-", _run(_ALNUM, 27)),
    ("api-token", "dckr_pat_ hvs. hvb. tskey- glsa_ figd_ PMAK- ATATT3", _body(24) + r"(?:=[\w-]+)?"),
)
# Kind, a literal that such a secret holds, and all of it; the first group stays.
_SHAPED = (
    ("twilio-token", "AC", rf"(AC{_HEX}{{32}}:){_run(_HEX, 32)}"),
    ("telegram-token", ":AA", rf"()\d{{6,12}}:AA{_body(30)}"),
    ("discord-webhook", "/api/webhooks/", rf"(/api/webhooks/)\d{{5,}}/{_body(20)}"),
    ("slack-webhook", "hooks.slack.com/", r"(hooks\.slack\.com/(?:services|workflows|triggers)/)[\w/-]{16,}"),
    ("teams-webhook", "/webhookb2/", r"(/webhookb2/)[\w@/-]{20,}"),
    ("azure-key", "Key=", rf"((?:Account|SharedAccess)Key=){_BASE64}"),
    ("azure-signature", "sig=", r"(\bsig=)[\w%+/-]{24,}={0,2}"),
    ("azure-secret", "Q~", rf"()[\w~.-]{{3}}\dQ~[\w~.-]{{30,}}{_ALNUM}"),
)
# Compiled when their literal is first met: all of them at once would cost an import 20 ms.
_TOKENS = [(kind, hint.encode(), pattern) for kind, hint, pattern in _SHAPED]
_TOKENS += [
    (kind, hint.encode(), f"(){re.escape(hint)}{rest}") for kind, hints, rest in _PREFIXED for hint in hints.split()
]
_SHORTEST = 15
# It has no literal but its dots: where they are not, at the right distance, the search ends at once.
_DISCORD_DOTS = re.compile(rb"\.[\w-]{6}\.[\w-]{27}")
_DISCORD = rf"()[MNO][\w-]{{22,27}}\.[\w-]{{6}}\.{_body(27)}"
# A password may hold a colon or an at sign, or else a slash, but not after what is a port.
_IN_URL = r"(:(?:\\?/){2}[^\s/:@\"'<>\[]*:)(?!\[REDACTED)(?:[^\s/\"'<>]+|(?!\d+/)[^\s:@\"'<>]+)(?=@[\w\[])"
_AS_URL_USER = rf"(:(?:\\?/){{2}}){_ALNUM}{{20,}}(?=@[\w\[])"
_FOR_CURL = (
    r"(curl\b(?:[^\nc]|c(?!url)|(?<=\\)\n){0,400}?\s(?:-u|--user)[ =]{1,4}['\"]?[^\s:'\"\[<]*:['\"]?)[^\s'\"\\]{3,}"
)
_TAG = re.compile(r"(?:<|\\u003[cC])(/?)(?i:private)\s{0,9}(?:>|\\u003[eE])")
# Line ends of all kinds, and what source code, quotations and numbered listings put around them.
_GAP = r"(?:[\s\"'`+,;>|#*.]|\\+[nrt\"'/]?|\d{1,6}[→\t])"
_HEADER = r"[A-Z][A-Za-z-]{2,24}: [^\n\\\"]{1,120}"
_PEM = (
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?=(?:{_GAP}|{_HEADER})*+[A-Za-z0-9+/=]{{5}})"
    rf"(?:(?:{_GAP}*+(?:{_HEADER}|[A-Za-z0-9+/=]+))++{_GAP}*+-----END[^-\n]{{1,40}}-----"
    rf"|(?:{_GAP}*+(?:{_HEADER}|[A-Za-z0-9+/=]{{16,}}))++"
    r"(?:(?:\s|\\+[nr])+[A-Za-z0-9+/]{1,15}={0,2}(?=[\s\"'\\]|\Z))?)"
)

_STEMS = {b"pass": "password", b"pwd": "password", b"secret": "secret", b"token": "token", b"bearer": "token"}
_STEMS |= {b"key": "key", b"auth": "authorization"}
_KEYS = tuple(b"api access private secret encryption signing master account service shared auth".split())
_NO_SECRETS = tuple(b"next page pagination starting continuation idempotency csrf xsrf public".split())
_NAME = re.compile(
    # A test passes, too: that word alone needs an equals sign or a quoted value after it, or dashes before.
    rb"(?P<name>(?:pass(?:word|wd|phrase|code|(?<=--pass)(?=[ \t])|(?=[\"'\]]{0,3}[ \t]{0,9}(?:=|:[ \t]{0,9}\\*[\"'])))"
    rb"|pwd|secret|token|key|auth(?:orization)?|bearer(?=[ \t]))"
    rb"(?:[-_.]?(?:access|key|base|value|string|plain|text|raw|data|token|secret|production|prod|dev|test|live"
    rb"|staging|new|old|main|primary|secondary|confirmation|confirm|v?\d{1,4})){0,4})"
    rb"(?:\\*[\"'`]\]?|\*\*)?[?!]?"
    rb"(?:(?P<sign>[ \t]{0,9}(?:=>|:=|[=:](?![=:]))\*{0,2}[ \t]{0,9})|(?P<element>>)(?=[^<>\s]{4,200}</)"
    rb"|(?P<value>,?\s{1,40}[\"']?value[\"']?[=:][ \t]{0,4})|(?<=[\"'`])(?P<comma>,[ \t]{0,4})(?=\\*[\"'`])"
    rb"|(?P<cell>[ \t]{1,9}\|[ \t]{1,9})|(?P<verb>[ \t]{1,9}(?:is|was|-{1,2}>?)[ \t:]{1,3})|(?P<space>[ \t]{1,9}))"
)
_NAME_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_START = re.compile(r"(?:\A|[\n→;?&])(?P<margin>[ \t>+-]*)\Z|(?:export |set |ENV |\$env:)\Z")
_SCHEME = r"(?P<scheme>(?i:bearer|basic|(?:api-?)?(?:token|key)|bot)[ \t]{1,4})?"
_OPEN = re.compile(r"(?:[bBrRuU]{1,2}(?=[\"']))?(?P<quote>\\*(?:\"\"\"|'''|[\"'`]))")
_QUOTED = re.compile(rf"{_OPEN.pattern}{_SCHEME}(?P<value>[^\n]{{0,4096}}?)(?<!\\)(?P=quote)")
# An ampersand or semicolon before another name ends a value; any other may be a part of it. Values are judged
# by their beginning, for names can follow each other without end.
_WORD = re.compile(rf"{_SCHEME}(?P<value>(?:[^\s\"'`<>()\[\]{{}},;&|\\]|&(?=\w)(?!\w{{1,30}}=)){{1,64}})")
_WHOLE = re.compile(rf"{_SCHEME}(?P<value>(?:[^\s\"'`\\;&\[]|\[(?!REDACTED)|[;&](?![\w. ]{{1,30}}=)){{1,64}})")

_MARKER = re.compile(r"\[REDACTED(?::[a-z0-9-]+)?\]")
# Masks, words in a row, long names of functions.
_NO_TOKEN = re.compile(r"(?i:.*x{12}|[a-z]{1,12}(?:[-_][a-z]{1,12}){2,}\Z)|[a-z]+_[a-z]+(?:[A-Z][a-z]{2,})+\Z")
# Variables and templates, and variables joined to a string that ends before them.
_REFERENCE = re.compile(
    r"[+.,)]\s?[A-Za-z_][\w.]{0,24}[+(),\s]*\Z|ENC\[|\$(?:[{(]|[A-Za-z_]\w*\Z)|[<{\[]|[#@!][A-Za-z-]+\Z|%(?:[sdr(]|\w+%)|.*(?:\$\{|\{\{|#\{|<%)"
    r"|[\W_xX]+\Z"
)
_ALGORITHM = r"(?i:sha|md|aes|rsa|hmac|utf|base|oauth|argon|hs|rs|es|ed|pbkdf|http|tls|x)\d{1,5}[a-z]{0,3}"
# Paths, URLs and mail addresses; what asks to be replaced; names of secrets and of algorithms.
_NO_SECRET = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@-]{1,24})+[/\\]?\Z|[\w+.-]+://|arn:|[\w+.-]+@[\w-]+(?:\.[\w-]+)+\Z"
    r"|(?i:.*your|change.?me|.*placeholder|.*\bexample\b)"
    r"|(?:[A-Za-z]+_)+(?i:password|secret|token|key)\Z|[a-z]+(?:[A-Z][a-z]+)*(?:Password|Key)\Z"
    rf"|{_ALGORITHM}\Z"
)
_PLACEHOLDERS = (
    " none null nil true false undefined yes no on off enabled disabled required optional str string bytes text int"
    " bool boolean any object number default empty secret secrets password passwords passwd passphrase pass pwd"
    " token tokens key keys api apikey access auth authentication authorization my the a an of here example sample"
    " dummy fake test testing demo placeholder change me changeme changeit todo tbd redacted hidden masked removed"
    " value name user username insert enter replace with this some foo bar baz client private public bearer basic"
    " oauth jwt scheme header realm db input prompt field credential credentials "
)
_CALL = re.compile(r"[A-Za-z_][\w.]*[(\[]|(?:os|env|process|import|self|this|settings|config)\.\w")
_CODE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+\Z|[A-Za-z]+(?:_[A-Za-z]+)+\d{0,2}\Z")
_WORDLIKE = re.compile(rf"[A-Za-z]*\d{{0,2}}|\d+|\d{{1,2}}[A-Za-z]+|\d\dT\d\d|{_ALGORITHM}")


_LONGEST_KNOWN = 4_096


def redact(text: str) -> str:
    """The text with `[REDACTED]` for private blocks and `[REDACTED:kind]` for secrets, else unchanged."""
    return _redacted(text) if len(text) <= _LONGEST_KNOWN else _redacted.__wrapped__(text)


def removed_kinds(before: str, after: str) -> list[str]:
    """The kinds of what `redact` removed from `before` to get `after`, `private` for blocks, in order of appearance."""
    found = Counter(_MARKER.findall(after))
    found.subtract(_MARKER.findall(before))
    new = [marker for marker, more in found.items() if more > 0]
    return [marker[1:-1].removeprefix("REDACTED").lstrip(":") or "private" for marker in new]


# What was just read is what is about to be written: the same texts come twice.
@lru_cache(maxsize=1024)
def _redacted(text: str) -> str:
    letters = _ascii(text)
    if b"private" in (lowered := letters.lower()):
        if b"<private" in lowered or b"u003cprivate" in lowered:
            text = _without_private(text)
        if b"PRIVATE KEY" in letters:
            text = re.compile(_PEM).sub("[REDACTED:private-key]", text)
    long = b" ".join({word for word in letters.replace(b"?", b" ").split() if len(word) >= _SHORTEST})
    for kind, hint, pattern in _TOKENS if long else ():
        if hint in long:
            text = _without(kind, pattern, text)
    if _DISCORD_DOTS.search(long):
        text = _without("discord-token", _DISCORD, text)
    if b"@" in letters and b"/" in letters:
        text = _without("url-password", _IN_URL, text)
        text = _without("url-token", _AS_URL_USER, text)
    if b"curl " in letters:
        text = _without("password", _FOR_CURL, text)
    return _without_named(text)


def _ascii(text: str) -> bytes:
    """One byte for each letter, whatever the letter: offsets stay the text's own, and searching is fastest."""
    return text.encode("ascii", "replace")


def _without_private(text: str) -> str:
    kept, depth, end = [], 0, 0
    for tag in _TAG.finditer(text):
        if not tag[1]:
            if not depth:
                kept += [text[end : tag.start()], "[REDACTED]"]
            depth += 1
        elif depth:
            depth -= 1
            end = tag.end()
    return "".join(kept if depth else [*kept, text[end:]])


def _without(kind: str, pattern: str, text: str) -> str:
    def replacement(found: re.Match[str]) -> str:
        secret = _MARKER.sub("", found[0][len(found[1]) :])
        if not secret or _NO_TOKEN.match(secret) or _REFERENCE.match(secret):
            return found[0]
        return f"{found[1]}[REDACTED:{kind}]"

    return re.compile(pattern, re.ASCII).sub(replacement, text)


def _without_named(text: str) -> str:
    """The text without the values whose names say that they are secret."""
    kept, done = [], 0
    for at, kind, name in _names(_ascii(text).lower()):
        if name.end() >= done and (span := _span_of_secret(text, at, kind, name)):
            kept += [text[done : span[0]], f"[REDACTED:{kind}]"]
            done = span[1]
    return "".join([*kept, text[done:]]) if kept else text


def _names(lowered: bytes) -> list[tuple[int, str, re.Match[bytes]]]:
    """Each name of a secret with what joins it to a value, in order: where its stem is, its kind, its match."""
    found: dict[int, tuple[int, str, re.Match[bytes]]] = {}
    for stem, kind in _STEMS.items():
        at = lowered.find(stem)
        while at >= 0:
            if (name := _NAME.match(lowered, at)) and _is_name(stem, lowered, at):
                found.setdefault(name.end(), (at, kind, name))
            at = lowered.find(stem, at + len(stem))
    return [found[end] for end in sorted(found)]


def _is_name(stem: bytes, lowered: bytes, at: int) -> bool:
    before = lowered[max(0, at - 14) : at]
    if stem == b"key":
        return before.rstrip(b"-_ .").endswith(_KEYS)
    if stem == b"token":
        return not before.rstrip(b"-_ ").endswith(_NO_SECRETS)
    if stem == b"auth" or (stem == b"pass" and lowered[at + 4 : at + 5] not in b"wpc"):
        return not before[-1:].isalpha()
    return True


def _span_of_secret(text: str, at: int, kind: str, name: re.Match[bytes]) -> tuple[int, int] | None:
    """Where the secret after a name is, if there is one."""
    before = text[max(0, at - 64) : at]
    lead = before.rstrip(_NAME_LETTERS)
    prefix = before[len(lead) :]
    if lead.endswith("\\"):  # the n of an escaped line end is no part of the name
        lead, prefix = "", prefix[1:]
    flag = prefix.startswith("-") or "login " in lead
    quote = _OPEN.match(text, name.end())
    match name.lastgroup:
        case "comma":
            joined = lead.endswith(("'", '"', "`"))
        case "cell":
            joined = lead.rstrip().endswith("|")
        case "space":
            joined = flag or bool(quote) or name[0].startswith(b"bearer")
        case _:
            joined = not lead.endswith(":" if name["sign"] == b":" else "::")
    if not joined:
        return None
    start = _START.search(lead)
    shell = prefix.startswith("--") or (prefix + text[at : name.end("name")]).isupper()
    if quote:
        literal = quote[0][-1] != "`" and (name.lastgroup in ("sign", "value") or flag)
    else:
        bare = shell or bool(start and not start["margin"])
        literal = bool(name["element"] or (name["value"] and shell) or (name["sign"] == b"=" and bare))
    if value := _QUOTED.match(text, name.end()):
        return _judged(value, kind, literal)
    value = (_WHOLE if start or shell else _WORD).match(text, quote.end() if quote else name.end())
    span = _judged(value, kind, literal) if value else None
    # A quote that nothing ends is that of a value which was cut off, or else that of another string.
    if span and quote and text[span[1] : span[1] + 1] not in ("", "\n", quote[0][-1]):
        return None
    return span


def _judged(value: re.Match[str], kind: str, literal: bool) -> tuple[int, int] | None:
    """Where the value is, if it is a secret."""
    (start, end), secret = value.span("value"), value["value"]
    if value.re is not _QUOTED:
        secret = _trimmed(secret)
        call = _CALL.match(value.string, start)
        if call and (not literal or call[0][-1] not in "([" or secret[-1:] in "()[]"):
            return None
    strong = kind in ("password", "secret")
    if value["scheme"] and kind == "authorization":
        strong, literal = True, len(secret) > 7 and not secret.islower() and not secret.istitle()
    if not _is_secret(secret[:64], strong, literal):
        return None
    if value.re is not _QUOTED:
        while more := value.re.match(value.string, end):
            end = more.end()
        end = start + len(_trimmed(value.string[start:end]))
    return start, end


def _trimmed(value: str) -> str:
    """An unquoted value without the punctuation that the sentence or the code puts after it."""
    return value.rstrip(".,:;!?*" if any(bracket in value for bracket in "([{") else ".,:;!?*)]}")


def _is_secret(value: str, strong: bool, literal: bool) -> bool:
    """Whether a value is a secret; `strong` is its name, and `literal` says that it can be no word of a text."""
    if len(value) < (4 if strong and literal else 6 if strong else 8) or len(value.split()) != 1:
        return False
    digits, letters = sum(map(str.isdigit, value)), re.sub("[+/=]", "", value)
    if not strong and digits < 2 and not letters.isalpha():
        return False
    if "[REDACTED" in value or _REFERENCE.match(value) or _NO_SECRET.match(value):
        return False
    if digits < 2 and all(f" {word} " in _PLACEHOLDERS for word in re.findall("[a-z]+", value.lower())):
        return False
    if strong and literal:
        return True
    if digits < 5 and _CODE.match(value):
        return False
    words = [word for word in re.split(r"[-_.:/@+]", value) if word]
    wordlike = all(_WORDLIKE.fullmatch(word) for word in words)
    if strong:
        return (digits > 0 and (len(words) == 1 or not wordlike)) or bool(re.search(r"\w[!@#$%^&*~]\w", value))
    if digits > 1:
        return not wordlike
    share = sum(map(str.isupper, letters)) / len(letters)
    padded = value.endswith("=") and len(value) % 4 == 0
    return padded or (len(letters) > 15 and (0.35 < share < 0.65 or (literal and share in (0, 1))))
