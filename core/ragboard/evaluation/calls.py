"""What judges were asked for one sample, as a person reads it: tasks in words, messages, outcomes, tokens and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Call", "Message", "Origin", "SampleCalls"]

Origin = Literal["asked", "shared", "elsewhere", "nobody"]
"""asked: a model was, for this sample; shared: for another sample with the same task, which paid for it;
elsewhere: another evaluation of the store paid, and the answer was taken from the cache; nobody: no model was
asked."""


_ORIGINS: dict[Origin, str] = {
    "asked": "asked for this sample",
    "shared": "asked for another sample with the same task, which counts it",
    "elsewhere": "taken from the cache: another evaluation asked, and the raw reply is in its journal",
    "nobody": "no call to a model",
}


@dataclass(frozen=True, kw_only=True)
class Message:
    """What one side said, whole."""

    role: Literal["prompt", "reply"]
    text: str


@dataclass(frozen=True, kw_only=True)
class Call:
    """One task and what became of it."""

    task: str
    """In words: `Hold 3 statements against 5 passages`."""
    judge: str
    """Who answered: a model, or by which rules."""
    origin: Origin
    messages: tuple[Message, ...]
    """Prompts and raw replies, in turn; those after the first two are requests to repair a reply, and their replies."""
    no_prompt: str
    """Why no prompt is among them; empty where one is."""
    outcome: str
    """What was read from the reply, in words; of a failure why."""
    failed: bool
    calls: int
    """Calls that were answered; 0 where no model was asked for this."""
    uncounted: int
    """How many of them without the server's word on tokens."""
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """US dollars, at the prices that the evaluation was counted by; None where these or tokens are not known."""

    @property
    def repairs(self) -> int:
        """How often the model was told what was wrong with its reply."""
        return sum(message.role == "prompt" for message in self.messages[1:])

    @property
    def facts(self) -> str:
        """In one line: `openai:gpt-4o-mini; asked for this sample; 2 calls, 1 to repair; 840 tokens; $0.0002`."""
        if not self.calls:
            return f"{self.judge}; {_ORIGINS[self.origin]}"
        counted = f"{self.prompt_tokens:,} + {self.completion_tokens:,} tokens"
        tokens = "tokens not known" if self.uncounted else counted
        dollars = "cost unknown" if self.cost is None else f"${self.cost:,.6f}"
        repairs = f", {self.calls - 1} to repair the reply" if self.calls > 1 and self.messages else ""
        calls = f"{self.calls} call{'' if self.calls == 1 else 's'}{repairs}"
        return f"{self.judge}; {_ORIGINS[self.origin]}; {calls}; {tokens}; {dollars}"


@dataclass(frozen=True, kw_only=True)
class SampleCalls:
    """All tasks that a sample's results were made of, and what those took that were asked for it."""

    tasks: tuple[Call, ...]
    missing: str
    """Why they cannot be shown; empty where they are."""

    @property
    def paid(self) -> tuple[Call, ...]:
        """Those for which a model was asked on behalf of this sample."""
        return tuple(one for one in self.tasks if one.origin == "asked")

    @property
    def cost(self) -> float | None:
        """US dollars; None where that of one is not known."""
        known = [one.cost for one in self.paid]
        return None if None in known else sum(dollars or 0.0 for dollars in known)

    def __str__(self) -> str:
        """In one line: `9 tasks, 4 calls, 2,310 tokens, $0.0004`."""
        paid = self.paid
        tokens = sum(one.prompt_tokens + one.completion_tokens for one in paid)
        unknown = sum(one.uncounted for one in paid)
        said = f"{tokens:,} tokens" + (f" (without those of {unknown} that are not known)" if unknown else "")
        dollars = "cost unknown" if self.cost is None else f"${self.cost:,.4f}"
        calls = sum(one.calls for one in paid)
        return f"{len(self.tasks)} tasks, {calls} calls to models" + (f", {said}, {dollars}" if calls else "")
