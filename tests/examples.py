"""Execute the code blocks of a documentation page.

| block | what happens |
|---|---|
| `python` with `>>>` | executed, and compared with the output; the blocks of a page share their variables |
| `console` | each `$ ragboard ...`, `$ cat FILE` and `$ echo $?` is executed, and compared with the lines after it |
| any block with `title="FILE"` | written to this file, for the following blocks |
| `shell`, `yaml` | only checked for existing commands and options, because it needs a key, a server or other files |
| `json`, `toml`, and `python` with another tool as its title | only parsed |
| `text` | ignored |

`...` in the expected output stands for any text. A command with an error needs `$ echo $?` after it. A page is executed
in a temporary folder with `sample_data` and the store of `ragboard demo`.
"""

from __future__ import annotations

import ast
import doctest
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from ragboard.cli import main
from ragboard.errors import ExitCode

ROOT = Path(__file__).parents[1]
FENCE = re.compile(
    r"^```(?P<language>\S*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
ELLIPSIS = doctest.ELLIPSIS
WITHOUT_ERROR = (ExitCode.DONE, ExitCode.GATE_FAILED, ExitCode.INCONCLUSIVE)
"""Exit codes of commands without an error."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    title: str
    text: str

    def fail(self, why: str) -> None:
        raise AssertionError(f"{self.page}:{self.line}: {why}")


def blocks(name: str, page: str) -> list[Block]:
    """The fenced blocks of a page. An example outside of a fence is an error, for nothing would execute it."""
    found = [
        Block(name, page.count("\n", 0, one.start()) + 1, one["language"], one["title"] or "", one["text"])
        for one in FENCE.finditer(page)
    ]
    for line in FENCE.sub("", page).splitlines():
        if line.startswith(("    ", "```", ">>>", "$ ")):
            raise AssertionError(f"{name}: an example outside of a fence, or in a fence that is not closed: {line}")
    return found


@dataclass
class Reader:
    """Executes the blocks of a page as a reader would, in the working directory."""

    names: dict[str, Any] = field(default_factory=dict)
    exit_code: int = 0

    def run(self, block: Block) -> None:
        """Execute a block, or check it. Raises AssertionError where it does not do what the page shows."""
        if Path(block.title).suffix:
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python" and ">>>" in block.text:
            self._python(block)
        elif block.language == "console":
            self._console(block)
        elif block.language in ("shell", "yaml"):
            for line in commands(block):
                check_command(block, line)
        elif block.language == "python" and not block.title:
            block.fail("nothing executes Python without >>>: name the file that it is, or the tool that it is for")
        elif block.language in PARSERS:
            PARSERS[block.language](block.text)
        elif block.language != "text":
            block.fail(f"nothing executes a block of {block.language or 'no language'}")

    def _python(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(block.text, self.names, block.page, block.page, block.line)
        said: list[str] = []
        result = doctest.DocTestRunner(optionflags=ELLIPSIS).run(test, out=said.append, clear_globs=False)
        self.names.update(test.globs)
        assert not result.failed, "".join(said)

    def _console(self, block: Block) -> None:
        parts = re.split(r"^\$ ", block.text.replace("\\\n", ""), flags=re.MULTILINE)[1:]
        for part, following in zip(parts, [*parts[1:], ""], strict=True):
            line, _, expected = part.partition("\n")
            got = self._executed(block, shlex.split(line))
            if not doctest.OutputChecker().check_output(plain(expected), plain(got), ELLIPSIS):
                block.fail(f"$ {line}\nexpected:\n{expected}\ngot:\n{got}")
            failed = line.startswith("ragboard") and self.exit_code not in WITHOUT_ERROR
            if failed and not following.startswith("echo $?"):
                block.fail(f"$ {line}\nexit code {self.exit_code}:\n{got}")

    def _executed(self, block: Block, words: list[str]) -> str:
        match words:
            case ["ragboard", *arguments]:
                done = CliRunner().invoke(main, arguments)
                self.exit_code = done.exit_code
                if done.exception is not None and not isinstance(done.exception, SystemExit):
                    raise done.exception
                return done.output
            case ["echo", "$?"]:
                return f"{self.exit_code}\n"
            case ["cat", file]:
                return Path(file).read_text(encoding="utf-8")
        block.fail(f"nothing executes {words[0]!r}")
        raise AssertionError


def plain(text: str) -> str:
    """Without spaces at the ends of lines, and with a line break at the end unless nothing is there."""
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    return "".join(f"{line}\n" for line in lines)


def commands(block: Block) -> Iterator[str]:
    """The command lines of a block, those that go on joined; of YAML those that begin with `ragboard`."""
    for line in block.text.replace("\\\n", " ").splitlines():
        command = line.strip().removeprefix("- ").removeprefix("run: ")
        if command and (block.language == "shell" or command.startswith("ragboard ")):
            yield command


def check_command(block: Block, line: str) -> None:
    """Hold every `ragboard` in a line against the commands and options that there are, and files of ours."""
    words = shlex.split(line, comments=True)
    for place, word in enumerate(words):
        if word.startswith(("benchmarks/", "docs/", "sample_data/", "tests/")) and not (ROOT / word).exists():
            block.fail(f"{word} is not there")
        if Path(word).name == "ragboard" and "install" not in words:
            rest = words[place + 1 :]
            stop = next((at for at, one in enumerate(rest) if one in ("|", "||", "&&", ">", "<", "&")), len(rest))
            check_arguments(block, rest[:stop])


def check_arguments(block: Block, arguments: list[str]) -> None:
    command: click.Command = main
    context = click.Context(main, info_name="ragboard")
    while isinstance(command, click.Group):
        try:
            _, rest, _ = command.make_parser(context).parse_args(list(arguments))
        except click.UsageError as error:
            block.fail(f"ragboard {' '.join(arguments)}: {error.message}")
        if not rest:
            return
        name, *arguments = arguments[arguments.index(rest[0]) :]
        below = command.get_command(click.Context(command), name)
        if below is None:
            block.fail(f"no command is called {name}")
        command = below
        context = click.Context(command, info_name=name, parent=context)
    try:
        command.make_parser(context).parse_args(list(arguments))
    except click.UsageError as error:
        block.fail(f"{name}: {error.message}")


PARSERS = {
    "python": ast.parse,
    "json": lambda text: [json.loads(line) for line in text.splitlines()] if "}\n{" in text else json.loads(text),
    "toml": tomllib.loads,
}
