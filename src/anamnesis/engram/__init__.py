"""Engram's dialect: `engram.db` read and written in place, as the Go program does. Knows nothing of notes."""

VERSION = "0.1.0"
