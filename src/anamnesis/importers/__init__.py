"""Importers of other programs' memories as notes."""
