"""ULIDs: 48 bits of milliseconds and 80 random bits in 26 characters that sort by time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from anamnesis.light import blake2b

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_DIGITS = frozenset(_ALPHABET)
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]
_TIME_LENGTH = 10
_SHIFTS = range(120, -1, -10)
_TO_BASE_32 = str.maketrans(_ALPHABET, "0123456789abcdefghijklmnopqrstuv")
_NO_TIME = "0" * _TIME_LENGTH + "Z" * 16
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def ulid(milliseconds: int, randomness: int) -> str:
    """The ULID of a moment and 80 random bits."""
    number = (milliseconds << 80) | randomness
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in _SHIFTS])


def ulid_of(number: int) -> str:
    """The ULID of 128 bits."""
    return ulid(number >> 80, number & ((1 << 80) - 1))


def number_of(text: str) -> int | None:
    """The 128 bits of a ULID; None if the text is not one."""
    if len(text) != 26 or text[0] > "7" or not _DIGITS.issuperset(text):
        return None
    return int(text.translate(_TO_BASE_32), 32)


def moment_of(text: str) -> str:
    """The time of a ULID, to the second; "" if the text is not one."""
    number = number_of(text)
    try:
        return "" if number is None else (_EPOCH + timedelta(seconds=(number >> 80) // 1000)).isoformat()
    except OverflowError:
        return ""


def ending_of(text: str) -> str:
    """The characters of a ULID that are not its time."""
    return text[_TIME_LENGTH:]


def has_time(text: str) -> bool:
    """Whether a ULID is of a time after the first millisecond of 1970."""
    return text > _NO_TIME


def derived_id(moment: str, name: str) -> str:
    """The ULID derived from a time and a name; an invalid time counts as 1970. Its ending depends on the name alone."""
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=10).digest()
    return ulid(_milliseconds(moment), int.from_bytes(digest))


def _milliseconds(moment: str) -> int:
    try:
        time = datetime.fromisoformat(moment)
    except ValueError:
        return 0
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (max(time, _EPOCH) - _EPOCH) // timedelta(milliseconds=1)
