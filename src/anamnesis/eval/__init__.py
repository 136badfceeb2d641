"""Measures recall: the share of the notes answering a question that a search finds, and their ranks."""

from anamnesis.eval.candidates import build_eval_candidates
from anamnesis.eval.cases import EvalCase, load_eval_set, save_eval_set
from anamnesis.eval.measuring import recall_at_k
from anamnesis.eval.report import CaseResult, RecallReport, estimate_tokens

__all__ = [
    "CaseResult",
    "EvalCase",
    "RecallReport",
    "build_eval_candidates",
    "estimate_tokens",
    "load_eval_set",
    "recall_at_k",
    "save_eval_set",
]
