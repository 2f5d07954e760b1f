"""Tests of judge options: writing them as command-line options and reading them again."""

from __future__ import annotations

from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from ragboard.cli.options import batch_options, judge_options
from ragboard.judges import JudgeOptions
from ragboard.judges.options import command_options

GIVEN: dict[str, Any] = {
    "judge": "openai:j",
    "extract": "embedded",
    "verify": "local:m",
    "embed": "openai:e",
    "parameters": {"reasoning_effort": "low", "seed": 3},
    "prompts": Path("prompts"),
    "examples": Path("examples.tsv"),
    "headers": {"X-Team": "search"},
    "redact": (r"\d{4}", "@here", "@@twice", "a\nb"),
    "concurrency": 3,
    "requests_per_minute": 10.5,
    "tokens_per_minute": 1000.0,
    "timeout": 7.5,
    "batch": True,
    "batch_interval": 7.5,
    "device": "cpu",
    "threads": 2,
    "backend": "onnx",
}


def read_by_a_command(options: JudgeOptions) -> JudgeOptions:
    seen: list[JudgeOptions] = []

    @click.command()
    @batch_options
    @judge_options
    def command(judge_options: JudgeOptions) -> None:
        seen.append(judge_options)

    done = CliRunner().invoke(command, list(chain.from_iterable(command_options(options))), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return seen[0]


def test_every_option_has_a_case_here_but_the_address() -> None:
    assert set(GIVEN) == {one.name for one in fields(JudgeOptions)} - {"base_url"}


@pytest.mark.parametrize("name", GIVEN)
def test_a_command_reads_each_option_as_it_was_given(name: str) -> None:
    options = JudgeOptions(**{name: GIVEN[name]})
    assert read_by_a_command(options) == options


def test_a_command_reads_all_options_together_as_they_were_given() -> None:
    assert read_by_a_command(JudgeOptions(**GIVEN)) == JudgeOptions(**GIVEN)


def test_a_header_with_a_secret_is_no_word_of_a_command() -> None:
    words = chain.from_iterable(command_options(JudgeOptions(headers={"Authorization": "Bearer secret"})))
    assert "secret" not in " ".join(words)


def test_the_address_is_no_word_of_a_command() -> None:
    words = chain.from_iterable(command_options(JudgeOptions(base_url="http://127.0.0.1:1/v1?key=secret")))
    assert "secret" not in " ".join(words)
