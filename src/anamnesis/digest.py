"""BLAKE2 without OpenSSL, which hashlib loads: 3 ms that a hook need not spend."""

try:
    from _blake2 import blake2b
except ImportError:  # a Python that is built without it
    from hashlib import blake2b

__all__ = ["blake2b"]
