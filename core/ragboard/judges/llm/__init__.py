"""Judges that call a chat model or a function of the user, and an embedder that calls a server."""

from __future__ import annotations

from ragboard.judges.llm.callable import CallableJudge, judge_from
from ragboard.judges.llm.embedder import OpenAiEmbedder
from ragboard.judges.llm.endpoint import Endpoint, openai_endpoint
from ragboard.judges.llm.judge import LlmJudge
from ragboard.judges.llm.traffic import Limits

__all__ = ["CallableJudge", "Endpoint", "Limits", "LlmJudge", "OpenAiEmbedder", "judge_from", "openai_endpoint"]
