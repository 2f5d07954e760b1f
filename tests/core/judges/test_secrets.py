"""Secrets are masked in every form in which a server can repeat them."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

from ragboard.judges.secrets import MASK, secret_masker

SECRET = 'sk-proj-a"B/c\\d+E0123456789'


@pytest.mark.parametrize(
    "said",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(json.dumps(SECRET))[3:-3],
        "".join(f"\\u{ord(character):04x}" for character in SECRET),
        f"\\u0073{SECRET[1:]}",
        SECRET.replace("/", "\\/"),
        SECRET.encode().hex(),
        b64encode(SECRET.encode()).decode(),
    ],
)
@pytest.mark.parametrize("around", ["{}", 'It says "{}", line\\nbreaks and C:\\\\paths.'])
def test_a_secret_is_masked_in_every_form(said: str, around: str) -> None:
    masked = secret_masker([SECRET, "short"])(around.format(said))
    assert MASK in masked
    assert said not in masked


@pytest.mark.parametrize("text", ["", "plain", "a\\nb \\u00e9 \\s k-proj", SECRET[:-1], "short"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert secret_masker([SECRET, "short"])(text) == text
    assert secret_masker(["short"])(text) == text
