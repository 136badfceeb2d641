"""The hub's key, and what is hashed under it: tokens and device codes. The key is never in the database."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from anamnesis.disk import write_atomically
from anamnesis.errors import InvalidArgument

PREFIX = "anh_"
_LEAST_BYTES = 32
# Neither vowels, which make words, nor letters that look alike.
_LETTERS = "BCDFGHJKMNPQRSTVWXZ"
_CHECKED = b"anamnesis hub"


class Key:
    """The hub's secret. It can only be used to hash."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < _LEAST_BYTES:
            raise InvalidArgument(
                f"The hub's key has {len(secret)} bytes, and needs {_LEAST_BYTES}.", "`anamnesis hub init` makes one."
            )
        self._secret = secret

    def hash(self, text: str) -> bytes:
        return hmac.digest(self._secret, text.encode("utf-8", "replace"), hashlib.sha256)

    @property
    def check(self) -> bytes:
        """A fingerprint that recognises the key and reveals nothing of it."""
        return hmac.digest(self._secret, _CHECKED, hashlib.sha256)


def read_key(value: str, file: Path) -> Key | None:
    """The key from a variable's value, else from its file; None if there is neither."""
    if value:
        return Key(value.encode())
    try:
        secret = file.read_bytes().strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidArgument(f"The hub's key {file} cannot be read: {error.strerror}.") from error
    if os.name == "posix" and file.stat().st_mode & 0o077:
        raise InvalidArgument(f"The hub's key {file} can be read by others.", f"Run: chmod 600 {file}")
    return Key(secret)


def make_key(file: Path) -> Key:
    """A new key in a file that only its owner can read."""
    secret = secrets.token_urlsafe(_LEAST_BYTES + 16).encode()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(file, secret + b"\n", mode=0o600)
    return Key(secret)


def new_token() -> str:
    """`anh_` and 32 random bytes."""
    return PREFIX + secrets.token_urlsafe(32)


def new_user_code() -> str:
    """What a person types to confirm a login: eight letters."""
    letters = "".join(secrets.choice(_LETTERS) for _ in range(8))
    return f"{letters[:4]}-{letters[4:]}"


def plain_user_code(text: str) -> str:
    """A typed code in the form in which it was given out."""
    letters = "".join(letter for letter in text.upper() if letter.isalnum())
    return f"{letters[:4]}-{letters[4:]}"
