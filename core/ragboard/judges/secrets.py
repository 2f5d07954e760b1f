"""Find secrets in URLs and headers, and mask them in texts."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import parse_qsl, quote, urlencode

__all__ = ["MASK", "is_credential", "public_query", "secret_masker", "short_secret_pattern"]

MASK = "***"

_CREDENTIAL = re.compile(
    r"(?:key|token|secret|password|passwd|signature|credentials?|authorization|cookie)$"
    r"|(?:^|[^a-z])(?:sig|sas|auth|code|pass|pwd|jwt)(?:$|[^a-z])",
    re.IGNORECASE,
)


def is_credential(name: str) -> bool:
    """Return whether a parameter or header of this name is secret: `api-key`, `sig`, `Authorization`."""
    return bool(_CREDENTIAL.search(name))


def public_query(query: str) -> str:
    """Return the query of a URL with its parameters sorted and secret values replaced by `***`."""
    parameters = sorted(parse_qsl(query, keep_blank_values=True))
    return urlencode([(name, MASK if is_credential(name) else value) for name, value in parameters], safe="*:/")


def secret_masker(secrets: Iterable[str]) -> Callable[[str], str]:
    """Return a function that masks long secrets, also percent-encoded, as hex, in base64 and escaped in JSON."""
    long = [secret for secret in secrets if _is_long(secret)]
    if not long:
        return lambda text: text
    encoded = sorted({form for secret in long for form in _encoded(secret)}, key=len, reverse=True)
    pattern = re.compile("|".join((*map(re.escape, encoded), *map(_in_json, long))))
    unescaped = (*encoded, *long)
    escaped = re.compile(rf"\\+[u{re.escape(''.join(long))}]", re.IGNORECASE)

    def masked(text: str) -> str:
        # Few texts contain a secret. Searching each for the long pattern would take a quarter of the time of a call.
        if any(form in text for form in unescaped) or escaped.search(text):
            return pattern.sub(MASK, text)
        return text

    return masked


def short_secret_pattern(secrets: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches short secrets as whole words. Ordinary words such as `ollama` are no secrets."""
    short = [secret for secret in secrets if re.search(r"\d" if len(secret) < 12 else r"[\W\d]", secret)]
    words = (rf"(?<![\w-]){re.escape(secret)}(?![\w-])" for secret in short if len(secret) >= 6)
    return re.compile("|".join(words) or "(?!)")


def _is_long(secret: str) -> bool:
    """Return whether the secret is too long to be a placeholder such as `ollama` or `not-needed`."""
    return len(secret) >= 16 or (len(secret) >= 10 and any(map(str.isdigit, secret)))


def _encoded(secret: str) -> Iterator[str]:
    """Yield the secret percent-encoded, as hex, and in base64 at every offset."""
    raw = secret.encode()
    yield from (quote(secret, safe=""), raw.hex(), raw.hex().upper())
    for offset, mixed in ((0, 0), (1, 2), (2, 3)):  # the first `mixed` characters also encode the bytes before it
        encoded = b64encode(bytes(offset) + raw).decode()[mixed : (offset + len(raw)) * 8 // 6]
        yield from (encoded, encoded.replace("+", "-").replace("/", "_"))


def _in_json(secret: str) -> str:
    """Return a pattern that matches the secret in JSON text, where any character may be escaped."""
    return "".join(rf"(?:\\{{0,8}}{re.escape(character)}|(?i:\\{{1,8}}u{ord(character):04x}))" for character in secret)
