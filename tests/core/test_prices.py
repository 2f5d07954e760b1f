"""Tests of prices: each has a date and a source, and your file overrides them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragboard import SettingError
from ragboard.prices import Price, cost, read_prices


def test_every_packaged_price_has_a_date_and_a_source() -> None:
    prices = read_prices()
    assert prices
    for price in prices.values():
        assert price.prompt > 0
        assert price.date
        assert price.source.startswith("https://")


def test_a_file_of_your_own_goes_before_the_package(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text('["gpt-4o-mini"]\nprompt = 9\n\n["llama3:8b"]\nprompt = 0\ncompletion = 0\n', encoding="utf-8")
    prices = read_prices(file)
    assert prices["gpt-4o-mini"] == Price(prompt=9)
    assert prices["llama3:8b"] == Price(prompt=0, completion=0)
    assert prices["gpt-4.1"] == read_prices()["gpt-4.1"]


@pytest.mark.parametrize(
    ("price", "given", "dollars"),
    [
        (Price(prompt=2, completion=8), {"prompt": 1_000_000, "completion": 500_000}, 6.0),
        (Price(prompt=2, completion=8, cached=0.5), {"prompt": 1_000_000, "completion": 0, "cached": 400_000}, 1.4),
        (Price(prompt=2, completion=8), {"prompt": 1_000_000, "completion": 0, "cached": 400_000}, 2.0),
        (Price(prompt=0), {"prompt": 1_000_000, "completion": 7}, 0.0),
        (None, {"prompt": 0, "completion": 0}, None),
    ],
    ids=["plain", "cached", "cached without a price of its own", "free", "unknown"],
)
def test_a_cost_is_dollars_per_million_tokens(
    price: Price | None, given: dict[str, float], dollars: float | None
) -> None:
    assert cost(price, **given) == (None if dollars is None else pytest.approx(dollars))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[m", "invalid TOML"),
        ("m = 3", "expected a table"),
        ("[m]\ncompletion = 1", "with at least `prompt`"),
        ("[m]\nprompt = -1", "m: prompt: got -1, expected US dollars"),
        ("[m]\nprompt = true", "m: prompt: got True"),
        ("[m]\nprompt = inf", "m: prompt: got inf"),
        ("[m]\nprompt = nan", "m: prompt: got nan"),
        ('[m]\nprompt = "1"', "m: prompt: got '1'"),
        (
            "[m]\nprompt = 1\ninput = 2",
            "m: unknown key 'input'; expected one of prompt, completion, cached, batch, date, source",
        ),
        ("[m]\nprompt = 1\nbatch = -1", "m: batch: got -1, expected a share of the prices, 0 or more"),
    ],
)
def test_a_price_that_cannot_be_is_rejected_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingError, match=r"prices\.toml") as caught:
        read_prices(file)
    assert said in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"absent\.toml"):
        read_prices(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xff")
    with pytest.raises(SettingError, match="not UTF-8"):
        read_prices(tmp_path / "latin.toml")
