"""Tests of the index of task keys."""

import random

import pytest

from ragboard.evaluation import key_index
from ragboard.evaluation.key_index import KEY_BYTES, KeyIndex


def test_the_index_equals_a_dict_of_the_last_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_index, "RECENT", 10)
    draw = random.Random(0)
    index, expected = KeyIndex(), dict[bytes, int]()
    for offset in range(500):
        again = offset % 7 == 6
        zeros = offset % 3
        key = draw.choice(list(expected)) if again else draw.randbytes(KEY_BYTES - zeros) + bytes(zeros)
        index[key] = expected[key] = offset
    assert dict(index.items()) == expected
    assert len(index) == len(expected)
    assert [index.get(key) for key in expected] == list(expected.values())
    assert index.get(draw.randbytes(KEY_BYTES)) is None
    assert next(iter(expected)) in index
    assert draw.randbytes(KEY_BYTES) not in index
