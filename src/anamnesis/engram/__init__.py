"""Engram's dialect: reads and writes `engram.db` in place, as the Go program does. Knows nothing of notes."""

VERSION = "0.1.0"
