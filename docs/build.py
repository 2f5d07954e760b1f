"""Build the documentation website and check it.

    python docs/build.py FOLDER

Copies `docs/`, adds the reference pages of the command line and of Python, and builds the site with Zensical, for which
a broken link between pages is an error. Then checks the site: the target of every link, picture and anchor exists, and
no page loads anything from another host.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

import click

from ragboard.cli import SECTIONS, main

ROOT = Path(__file__).parents[1]
MODULES = {"python": "ragboard", "python-analysis": "ragboard.analysis", "python-stats": "ragboard.stats"}
"""The name of each Python reference page, and the public module that it describes."""
LINE = 88
"""Maximum characters of a signature on one line; a longer signature has one argument per line."""


def build(folder: Path) -> None:
    """Write the site to a folder, which may contain an earlier site. Exits with an error if the site has a problem."""
    if folder.exists() and any(folder.iterdir()) and not (folder / "search.json").exists():
        sys.exit(f"{folder} contains other files than a site; give an empty folder")
    with TemporaryDirectory() as temporary:
        copy = Path(temporary)
        shutil.copytree(ROOT / "docs", copy / "docs", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        shutil.copy(ROOT / "zensical.toml", copy)
        (copy / "docs/reference/command-line.md").write_text(command_line(), encoding="utf-8")
        for page, module in MODULES.items():
            (copy / f"docs/reference/{page}.md").write_text(python_module(module), encoding="utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
        if subprocess.run(command, cwd=copy, check=False).returncode:
            sys.exit("the site was not built; see the warnings above")
        if problems := list(find_problems(copy / "site")):
            sys.exit("\n".join(problems))
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(copy / "site", folder)


def command_line() -> str:
    """Return the reference page of the command line: every command with its help, arguments and options."""
    page = [
        "# Command line\n",
        "Every command, as `ragboard COMMAND --help` prints it. `--json` prints results for programs. "
        "See also [settings](settings.md) and [exit codes](exit-codes.md).\n",
    ]
    page.append("| command | what it does |\n|---|---|")
    for commands in SECTIONS.values():
        page += [f"| [`{name}`](#{name}) | {entry.summary} |" for name, entry in commands.items()]
    for title, commands in SECTIONS.items():
        page.append(f"\n## {title}\n")
        for name in commands:
            parent = click.Context(main)
            command = main.get_command(parent, name)
            page += _command(command, click.Context(command, info_name=name, parent=parent), 3)
    return "\n".join(page)


def _command(command: click.Command, context: click.Context, depth: int) -> Iterator[str]:
    context.parent.info_name = context.parent.info_name or "ragboard"  # type: ignore[union-attr]
    name = context.command_path.removeprefix("ragboard ")
    usage = " ".join(["ragboard", name, *command.collect_usage_pieces(context)])
    yield f"{'#' * depth} {name}\n\n```text\n{usage}\n```\n"
    text, _, examples = inspect.cleandoc(command.help or "").partition("\b\n")
    yield f"{text.strip()}\n"
    if examples:
        yield f"```shell\n{examples.strip()}\n```\n"
    rows = [option.get_help_record(context) for option in command.params if isinstance(option, click.Option)]
    yield "| option | what it does |\n|---|---|"
    yield from (f"| `{row[0]}` | {_cell(row[1])} |" for row in rows if row)
    yield ""
    if isinstance(command, click.Group):
        for child in command.commands.values():
            yield from _command(child, click.Context(child, info_name=child.name, parent=context), depth + 1)


def python_module(module: str) -> str:
    """Return the reference page of a public module: every exported name with signature, fields and docstring."""
    imported = importlib.import_module(module)
    page = [f"# Python: {module}\n", f"{inspect.getdoc(imported)}\n"]
    kinds: dict[str, list[str]] = {"Functions": [], "Classes": [], "Errors": [], "Constants": []}
    for name in imported.__all__:
        value = getattr(imported, name)
        if inspect.isclass(value):
            errors = issubclass(value, (Exception, Warning))
            kinds["Errors" if errors else "Classes"] += _class(name, value)
        elif inspect.isfunction(value):
            kinds["Functions"] += _function(f"### {name}", value)
        else:
            kinds["Constants"] += _constant(name, value)
    for kind, texts in kinds.items():
        if texts:
            page += [f"## {kind}\n", *texts]
    return "\n".join(page)


def _function(heading: str, function: Any) -> list[str]:
    node = _parsed(function)
    return [f"{heading}\n", f"```python\n{_signature(node)}\n```\n", f"{_doc(node)}\n"]


def _class(name: str, value: type) -> list[str]:
    node = _parsed(value)
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    page = [f"### {name}\n", f"```python\nclass {name}{f'({bases})' if bases else ''}\n```\n", f"{_doc(node)}\n"]
    fields = [
        (one, _text_after(node.body, place))
        for place, one in enumerate(node.body)
        if isinstance(one, ast.AnnAssign) and not ast.unparse(one.target).startswith("_")
    ]
    if fields:
        page.append("| field | type | default | what it is |\n|---|---|---|---|")
        for one, text in fields:
            default = f"`{_cell(ast.unparse(one.value))}`" if one.value else ""
            page.append(
                f"| `{ast.unparse(one.target)}` | `{_cell(ast.unparse(one.annotation))}` | {default} | {text} |"
            )
        page.append("")
    for one in node.body:
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) and one.name[0] != "_" and ast.get_docstring(one):
            page += [f"#### {name}.{one.name}\n", f"```python\n{_signature(one)}\n```\n", f"{_doc(one)}\n"]
    return page


def _constant(name: str, value: Any) -> list[str]:
    """Describe a name that is neither class nor function, from the module that assigns it."""
    ours = [module for key, module in sys.modules.items() if key.startswith("ragboard.")]
    for module in [module for module in ours if getattr(module, name, None) is value]:
        body = ast.parse(inspect.getsource(module)).body if inspect.getsourcefile(module) else []
        for place, one in enumerate(body):
            target = one.target if isinstance(one, ast.AnnAssign) else getattr(one, "targets", [None])[0]
            if isinstance(target, ast.Name) and target.id == name:
                typed = f": {ast.unparse(one.annotation)}" if isinstance(one, ast.AnnAssign) else ""
                whole = f"{name}{typed} = {ast.unparse(one.value)}"  # type: ignore[attr-defined]
                code = whole if len(whole) <= LINE else f"{name}{typed}"
                return [f"### {name}\n", f"```python\n{code}\n```\n", f"{_text_after(body, place)}\n"]
    raise LookupError(name)


def _parsed(value: Any) -> Any:
    return ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]


def _doc(node: Any) -> str:
    """Return the docstring, with its examples as code blocks."""
    text = ast.get_docstring(node) or ""
    return re.sub(
        r"(?:^>>> .*\n?(?:^\S.*\n?)*)+", lambda found: f"```python\n{found[0].rstrip()}\n```\n", text, flags=re.M
    )


def _text_after(body: list[ast.stmt], place: int) -> str:
    """Return the docstring after an assignment on one line; empty without one."""
    following = body[place + 1] if place + 1 < len(body) else None
    value = following.value if isinstance(following, ast.Expr) else None
    return (
        _cell(inspect.cleandoc(value.value)) if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""
    )


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the signature as in the source, with one argument per line if it is long."""
    start = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    short = f"{start} {node.name}({ast.unparse(node.args)}){returns}"
    if len(short) <= LINE:
        return short
    call = ast.parse(f"def f({ast.unparse(node.args)}): ...").body[0].args  # type: ignore[attr-defined]
    plain = [*call.posonlyargs, *call.args]
    defaults = [None] * (len(plain) - len(call.defaults)) + list(call.defaults)
    lines = [_argument(one, default) for one, default in zip(plain, defaults, strict=True)]
    if call.vararg or call.kwonlyargs:
        lines.append(f"*{ast.unparse(call.vararg)}" if call.vararg else "*")
    lines += [_argument(one, default) for one, default in zip(call.kwonlyargs, call.kw_defaults, strict=True)]
    if call.kwarg:
        lines.append(f"**{ast.unparse(call.kwarg)}")
    return f"{start} {node.name}(\n" + "".join(f"    {line},\n" for line in lines) + f"){returns}"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + (f" = {ast.unparse(default)}" if default else "")


def _cell(text: str) -> str:
    """Return the text for a cell of a Markdown table."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


class Page(HTMLParser):
    """The links, loaded files and anchors of a built page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors = {""}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the addresses and anchors of an element."""
        given = {key: value or "" for key, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(given["href"])
        self.loaded += [given["src"]] if "src" in given else []


def find_problems(site: Path) -> Iterator[str]:
    """Yield the problems of a built site, one line each."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    for path, page in pages.items():
        where = path.relative_to(site)
        outside = [one for one in page.loaded if urlsplit(one).netloc]
        yield from (f"{where}: loads {one}" for one in outside)
        for address in (one for one in [*page.links, *page.loaded] if not urlsplit(one).scheme and one not in outside):
            split = urlsplit(address)
            base = site if split.path.startswith("/") else path.parent
            target = (base / unquote(split.path).lstrip("/")).resolve() if split.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{where}: {address} does not exist"
            elif target in pages and unquote(split.fragment) not in pages[target].anchors:
                yield f"{where}: the anchor of {address} does not exist"
    for style in site.rglob("*.css"):
        found = re.findall(r"(?:url\(|@import\s+)[\"']?(?:https?:)?//[^\"')]+", style.read_text(encoding="utf-8"))
        yield from (f"{style.relative_to(site)}: loads {one}" for one in found)


def target_folder(arguments: Iterable[str]) -> Path:
    """Return the folder from the command line."""
    given = list(arguments)
    if len(given) != 1:
        sys.exit("usage: python docs/build.py FOLDER")
    return Path(given[0])


if __name__ == "__main__":
    build(target_folder(sys.argv[1:]))
