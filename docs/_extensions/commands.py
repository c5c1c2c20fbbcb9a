"""The command line, a page for each command: what ``--help`` says, asked while the site is built."""

from __future__ import annotations

import re
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

from docutils import nodes
from rich.console import Console
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ocboost.cli.app import build_app

FOLDER = "reference/commands"  # written here, and not kept
CODE = re.compile(r"`([^`]+)`|((?<![\w-])--?[a-z][\w-]*)")


class Help:
    """What ``--help`` shows of one command, taken from it instead of being drawn in a terminal."""

    def __init__(self, words: list[str]) -> None:
        self.usage = ""
        self.description = ""
        self.panels: list[Any] = []
        app = build_app()
        app.help_formatter = self
        app.help_print(words)

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        """Called for each table."""
        if panel.entries:
            self.panels.append(panel)

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:
        """Called for the line that says how it is used."""
        self.usage = plain(usage).removeprefix("Usage: ")

    def render_description(self, console: Any, options: Any, description: Any) -> None:
        """Called for the text below it."""
        self.description = plain(description)


def plain(text: Any) -> str:
    """A text of Rich as it reads in a terminal of endless width."""
    console = Console(file=StringIO(), width=100_000, color_system=None, markup=False, highlight=False)
    console.print(text)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()).strip("\n")


def inline(text: str) -> list[nodes.Node]:
    """A sentence, with options and what is in backticks as code."""
    found: list[nodes.Node] = []
    at = 0
    for match in CODE.finditer(text):
        if text[at : match.start()]:
            found.append(nodes.Text(text[at : match.start()]))
        found.append(nodes.literal("", match[1] or match[2]))
        at = match.end()
    return [*found, nodes.Text(text[at:])]


def shell(text: str) -> nodes.literal_block:
    """What somebody types."""
    return nodes.literal_block(text, text, language="text", classes=["wrapped"])


def blocks(text: str) -> list[nodes.Node]:
    """Paragraphs, and indented lines as what somebody types."""
    found: list[nodes.Node] = []
    for block in re.split(r"\n\s*\n", text):
        for indented, lines in _runs(block.splitlines()):
            joined = ("\n" if indented else " ").join(line.strip() for line in lines)
            found.append(shell(joined) if indented else nodes.paragraph("", "", *inline(joined)))
    return found


def _runs(lines: list[str]) -> list[tuple[bool, list[str]]]:
    found: list[tuple[bool, list[str]]] = []
    for line in lines:
        indented = line.startswith("    ")
        if not found or found[-1][0] != indented:
            found.append((indented, []))
        found[-1][1].append(line)
    return found


class CommandHelp(SphinxDirective):
    """``.. command-help:: fleet adapt`` shows what that command's ``--help`` says."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Make the nodes."""
        words = self.arguments[0].split() if self.arguments else []
        said = Help(words)
        found: list[nodes.Node] = [shell(said.usage), *blocks(said.description)]
        for panel in said.panels:
            if panel.format == "command":
                continue  # each has a section of its own
            found.append(nodes.rubric("", plain(panel.title)))
            found.append(nodes.definition_list("", *(self._entry(words, each) for each in panel.entries)))
        return found

    def _entry(self, words: list[str], entry: Any) -> nodes.definition_list_item:
        names = [*entry.positive_names, *entry.positive_shorts, *entry.negative_names, *entry.negative_shorts]
        shown = entry.positional_label or f"{', '.join(names)} {entry.metavar or ''}".strip()
        place = nodes.make_id("-".join([*words, (names or [shown])[0].strip("-")]))
        term = nodes.term("", "", nodes.literal("", shown), ids=[place])
        facts = ["Required."] if entry.required else []
        if entry.choices:
            facts.append(f"One of {', '.join(f'`{each}`' for each in entry.choices)}.")
        if entry.default is not None:
            facts.append(f"Default: `{entry.default}`.")
        text = " ".join([plain(entry.description), *facts])
        return nodes.definition_list_item("", term, nodes.definition("", *blocks(text)))


def commands(words: list[str] | None = None) -> list[list[str]]:
    """The words of every command, those within another after it."""
    found = []
    for panel in Help(words or []).panels:
        if panel.format != "command":
            continue
        for entry in panel.entries:
            name = entry.positive_names[0]
            if not name.startswith("-"):
                inner = [*(words or []), name]
                found += [inner, *commands(inner)]
    return found


def write_pages(app: Sphinx) -> None:
    """Write a page for each command."""
    folder = Path(app.srcdir) / FOLDER
    pages: dict[str, str] = {}
    for words in commands():
        name = f"``ocboost {' '.join(words)}``"
        line = "=" if len(words) == 1 else "-"
        pages.setdefault(words[0], "")
        pages[words[0]] += f"{name}\n{line * len(name)}\n\n.. command-help:: {' '.join(words)}\n\n"
    if folder.is_dir() and {path.stem for path in folder.iterdir()} != set(pages):
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def read_anew(app: Sphinx, env: Any, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """What a command says may have changed although its page has not."""
    return [name for name in env.found_docs if name.startswith(f"{FOLDER}/")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("command-help", CommandHelp)
    app.connect("builder-inited", write_pages, priority=100)
    app.connect("env-get-outdated", read_anew)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
