"""Which words of an address or a header are secret, and texts without them."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl, quote, urlencode

__all__ = ["MASK", "is_credential", "masking", "public_query"]

MASK = "***"

_CREDENTIAL = re.compile(
    r"(?:key|token|secret|password|passwd|signature|credentials?|authorization|cookie)$"
    r"|(?:^|[^a-z])(?:sig|sas|auth|code|pass|pwd|jwt)(?:$|[^a-z])",
    re.IGNORECASE,
)


def is_credential(name: str) -> bool:
    """Whether a parameter or a header of that name holds a secret: `api-key`, `sig`, `Authorization`."""
    return bool(_CREDENTIAL.search(name))


def public_query(query: str) -> str:
    """The parameters of an address in the order of their names, and `***` for what is secret."""
    given = sorted(parse_qsl(query, keep_blank_values=True))
    return urlencode([(name, MASK if is_credential(name) else value) for name, value in given], safe="*:/")


def masking(secrets: Iterable[str]) -> re.Pattern[str]:
    """Matches each secret that is long enough to be one, as it is and in the usual encodings."""
    long = [secret for secret in secrets if _is_long(secret)]
    encoded = sorted({form for secret in long for form in _encoded(secret)}, key=len, reverse=True)
    return re.compile("|".join((*map(re.escape, encoded), *map(_in_json, long))) or "(?!)")


def _is_long(secret: str) -> bool:
    """What is shorter may be a word that stands in texts: `ollama`, `not-needed`."""
    return len(secret) >= 16 or (len(secret) >= 10 and any(map(str.isdigit, secret)))


def _encoded(secret: str) -> Iterator[str]:
    """Percent-encoded, as hex, and in base64 wherever in the encoded bytes it begins."""
    raw = secret.encode()
    yield from (quote(secret, safe=""), raw.hex(), raw.hex().upper())
    for lead, unsure in ((0, 0), (1, 2), (2, 3)):
        core = b64encode(bytes(lead) + raw).decode()[unsure : (lead + len(raw)) * 8 // 6]
        yield from (core, core.replace("+", "-").replace("/", "_"))


def _in_json(secret: str) -> str:
    """A pattern of it as it is and as JSON may write it, also inside a text of JSON: each sign may be escaped."""
    return "".join(rf"(?:\\{{0,8}}{re.escape(sign)}|(?i:\\{{1,8}}u{ord(sign):04x}))" for sign in secret)
