"""Whether a value is a secret: random, or a placeholder, a variable, a word. Pure."""

from __future__ import annotations

import re

MARKER = re.compile(r"\[REDACTED(?::[a-z0-9-]+)?\]")
# Variables and templates, and variables concatenated to a string that ends before them.
_REFERENCE = re.compile(
    r"[+.,)]\s?[A-Za-z_][\w.]{0,24}[+(),\s]*\Z|ENC\[|\$(?:[{(]|[A-Za-z_]\w*\Z)|[<{\[]|[#@!][A-Za-z-]+\Z|%(?:[sdr(]|\w+%)"
    r"|[\W_xX]+\Z"
)
_ALGORITHM = (
    r"(?=\D{1,5}+\d)(?i:sha|md|aes|rsa|hmac|utf|base|oauth|argon|hs|rs|es|ed|pbkdf|http|tls|x)\d{1,5}[a-z]{0,3}"
)
# Masks, values to be replaced, names of secrets and algorithms.
_NO_WORD = re.compile(
    r"[xX]++\Z|(?=[cC])(?i:change.?me)|[a-z]++(?:[A-Z][a-z]++)*+(?:(?<=Password)|(?<=Key))\Z"
    rf"|{_ALGORITHM}\Z"
)
# Paths, URLs, mail addresses, names of secrets.
_NO_SECRET = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@-]{1,24}+)++[/\\]?\Z|[\w+.-]++(?:://|@[\w-]++(?:\.[\w-]++)++\Z)|arn:"
    r"|(?:[A-Za-z]++_)++(?i:password|secret|token|key)\Z"
)
_WORDS = (
    "none null nil true false undefined yes no on off enabled disabled required optional str string bytes text int"
    " bool boolean any object number default empty secret secrets password passwords passwd passphrase pass pwd"
    " token tokens key keys api apikey access auth authentication authorization my the a an of here example sample"
    " dummy fake test testing demo placeholder change me changeme changeit todo tbd redacted hidden masked removed"
    " value name user username insert enter replace with this some foo bar baz client private public bearer basic"
    " oauth jwt scheme header realm db input prompt field credential credentials"
)
_PLACEHOLDERS = frozenset(_WORDS.split())
_CODE = re.compile(r"[A-Za-z_]\w*+(?:(?:\.|::|->)[A-Za-z_]\w*+)++\Z|[A-Za-z]++(?:_[A-Za-z]++)++\d{0,2}\Z")
_BETWEEN = "[-_.:/@+]"
_ONE_WORD = re.compile(rf"{_BETWEEN}*+(?:(?!{_BETWEEN}).)++{_BETWEEN}*+\Z")
_WORDLIKE = re.compile(
    rf"{_BETWEEN}*+(?:(?=\w)(?:[A-Za-z]*+\d{{0,2}}+|\d++|\d{{1,2}}[A-Za-z]++|\d\dT\d\d|{_ALGORITHM})"
    rf"(?={_BETWEEN}|\Z){_BETWEEN}*+)*+\Z"
)
_DIGIT, _LETTERS = re.compile(r"\d"), re.compile("[a-z]+")
_MARKED = re.compile(r"\w[!@#$%^&*~]\w")
_EXAMPLE = re.compile(r"\bexample\b")


def is_reference(value: str) -> bool:
    """Whether a value is a variable, a template or a mask."""
    template = "{" in value and ("${" in value or "{{" in value or "#{" in value)
    return template or "<%" in value or bool(_REFERENCE.match(value))


def _asks_for_a_value(lowered: str) -> bool:
    return "your" in lowered or "placeholder" in lowered or bool("example" in lowered and _EXAMPLE.search(lowered))


def is_secret(value: str, strong: bool, literal: bool) -> bool:
    """Whether a value is a secret. `strong`: its name says so; `literal`: it cannot be a word of prose."""
    if len(value) < (4 if strong and literal else 6 if strong else 8):
        return False
    one_word, digits = value.isalnum(), len(_DIGIT.findall(value))
    letters = value if one_word else value.replace("+", "").replace("/", "").replace("=", "")
    if not strong and digits < 2 and not (letters.isalpha() and (len(letters) > 15 or value[-1] == "=")):
        return False
    if strong and not literal and not digits and not _MARKED.search(value):
        return False
    lowered = value.lower()
    if _NO_WORD.match(value) or _asks_for_a_value(lowered):
        return False
    if digits < 2 and _PLACEHOLDERS.issuperset(_LETTERS.findall(lowered)):
        return False
    if not one_word and (
        len(value.split()) != 1 or "[REDACTED" in value or is_reference(value) or _NO_SECRET.match(value)
    ):
        return False
    if strong and literal:
        return True
    if not one_word and digits < 5 and _CODE.match(value):
        return False
    if strong:
        single = one_word or _ONE_WORD.match(value)
        return bool(digits and (single or not _WORDLIKE.match(value))) or bool(_MARKED.search(value))
    if digits > 1:
        return not _WORDLIKE.match(value)
    if value[-1] == "=" and len(value) % 4 == 0:
        return True
    share = sum(map(str.isupper, letters)) / len(letters)
    return len(letters) > 15 and (0.35 < share < 0.65 or (literal and share in (0, 1)))


# A random-looking value.
_RANDOM = re.compile(
    r"(?=[A-Za-z_.:/+=%|-]{0,48}+\d|[A-Za-z]{0,20}[a-z][A-Z](?![a-z]{2}))[\w./+=:%|-]{14,}+(?![@(\[])", re.ASCII
)
_DIGEST = re.compile(rf"{_ALGORITHM}[-_:=]")
_CAMEL = re.compile("[a-z]*+(?:[A-Z]++(?:[a-z]{2,}+)?)*+[0-9]{0,2}")


def is_of_vendor(value: str, named: bool) -> bool:
    """Whether a value after a vendor's name is a secret; `named` if the name also has a word for a key."""
    if not (random := _RANDOM.match(value)) or random.end() < len(value):
        return False
    if value.isdigit():
        return named
    if named and value.isalnum() and not _CAMEL.fullmatch(value):
        return not value.islower() or not value.isalpha()
    return not value.startswith("//") and not _DIGEST.match(value) and is_secret(value, False, True)


_COOKIES = r"(?i:cookie)2?[\"'`]?[ \t]{0,4}[:=, ][ \t]{0,4}[\"'`]?[^\n\"'`]{1,4096}"
_COOKIE = r"(?P<name>[\w.%-]{1,60})=(?P<value>[^;\s,\"'`\\]{4,4096})"
_SESSION = "(?i)sess|sid|auth|token|jwt|login|remember|ticket"


def without_cookies(text: str, removed: list[tuple[str, str]]) -> str:
    """The text without the values of session cookies and random-looking ones, which are added to `removed`."""

    def replacement(found: re.Match[str]) -> str:
        session = bool(re.search(_SESSION, found["name"]))
        if not is_secret(found["value"][:64], session, True) or not (session or len(found["value"]) > 15):
            return found[0]
        removed.append((found["value"], "[REDACTED:cookie]"))
        return f"{found['name']}=[REDACTED:cookie]"

    return re.sub(_COOKIES, lambda header: re.sub(_COOKIE, replacement, header[0]), text)
