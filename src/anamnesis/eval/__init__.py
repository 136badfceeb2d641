"""Measures recall: how many of the notes that answer a question a search finds, and how high it ranks them."""

from anamnesis.eval.candidates import build_eval_candidates
from anamnesis.eval.cases import EvalCase, load_eval_set, save_eval_set
from anamnesis.eval.measuring import recall_at_k
from anamnesis.eval.report import Outcome, RecallReport, estimate_tokens

__all__ = [
    "EvalCase",
    "Outcome",
    "RecallReport",
    "build_eval_candidates",
    "estimate_tokens",
    "load_eval_set",
    "recall_at_k",
    "save_eval_set",
]
