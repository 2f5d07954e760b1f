"""Texts in their tags, as prompts show them."""

from __future__ import annotations

__all__ = ["lines", "material", "numbered"]


def material(question: str, contexts: tuple[str, ...], answer: str | None) -> str:
    """The question, the passages where there are any, and the answer where it is not None."""
    parts = [f"<question>\n{question}\n</question>"]
    if contexts:
        parts.append(numbered("passage", contexts))
    if answer is not None:
        parts.append(f"<answer>\n{answer}\n</answer>")
    return "\n".join(parts)


def numbered(tag: str, texts: tuple[str, ...]) -> str:
    """Each text as it stands in a tag with its number, from 1."""
    return "\n".join(f'<{tag} number="{number}">\n{text}\n</{tag}>' for number, text in enumerate(texts, 1))


def lines(tag: str, texts: tuple[str, ...]) -> str:
    """Each text on a line of its own in a tag with its number, from 1."""
    return "\n".join(
        f'<{tag} number="{number}">{" ".join(text.split())}</{tag}>' for number, text in enumerate(texts, 1)
    )
