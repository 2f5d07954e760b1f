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
    forms = {form for secret in secrets if _is_long(secret) for form in _forms(secret)}
    longest_first = sorted(forms, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")


def _is_long(secret: str) -> bool:
    """What is shorter may be a word that stands in texts: `ollama`, `not-needed`."""
    return len(secret) >= 16 or (len(secret) >= 10 and any(map(str.isdigit, secret)))


def _forms(secret: str) -> Iterator[str]:
    """As it is, percent-encoded, as hex, and in base64 wherever in the encoded bytes it begins."""
    raw = secret.encode()
    yield from (secret, quote(secret, safe=""), raw.hex(), raw.hex().upper())
    for lead, unsure in ((0, 0), (1, 2), (2, 3)):
        core = b64encode(bytes(lead) + raw).decode()[unsure : (lead + len(raw)) * 8 // 6]
        yield from (core, core.replace("+", "-").replace("/", "_"))
