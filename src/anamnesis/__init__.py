"""One memory for every coding agent on every machine you own."""

__version__ = "1.0.0.dev0"
