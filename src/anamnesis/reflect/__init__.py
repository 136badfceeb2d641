"""Sessions summarised by a model, and what episodes state folded into durable notes: by rules, a model or an agent."""

from anamnesis.reflect.model import FAILURES, MALFORMED, UNREACHED, ask, json_object
from anamnesis.reflect.summary import FALLBACK, ModelSummarizer, summarizer

__all__ = ["FAILURES", "FALLBACK", "MALFORMED", "UNREACHED", "ModelSummarizer", "ask", "json_object", "summarizer"]
