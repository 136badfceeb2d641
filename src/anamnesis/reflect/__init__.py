"""Summaries of sessions by a model, and the folding of episodes into durable notes: by rules, a model or an agent."""

from anamnesis.reflect.model_client import FAILURES, MALFORMED, UNREACHED, ask, json_object
from anamnesis.reflect.model_summary import FALLBACK, ModelSummarizer, summarizer

__all__ = ["FAILURES", "FALLBACK", "MALFORMED", "UNREACHED", "ModelSummarizer", "ask", "json_object", "summarizer"]
