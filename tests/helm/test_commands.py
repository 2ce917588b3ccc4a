"""The commands of the chart's containers, and those on the pages for operators, are commands of reflink-worker."""

from __future__ import annotations

import argparse
import re

import pytest

from tests.data import ROOT
from tests.helm.chart import INSTALLS, pods
from workers.cli import _parser

PAGES = (
    "docs/operations.md", "docs/runbook.md", "docs/dashboards.md", "docs/curating.md", "helm/reflink/README.md",
    "helm/reflink/templates/NOTES.txt",
)  # fmt: skip


@pytest.mark.parametrize("install", INSTALLS)
def test_every_container_runs_an_existing_command(install):
    for name, pod in pods(install):
        one = pod["spec"]["containers"][0]
        assert callable(_parser().parse_args(one["args"]).run), name
        assert "command" not in one, name  # otherwise the image's start script would not run


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the subcommands of a parser by name."""
    return {
        name: each for action in parser._actions if isinstance(action.choices, dict) for name, each in action.choices.items()
    }


@pytest.mark.parametrize("page", PAGES)
def test_a_page_for_operators_names_existing_commands_and_options(page):
    found = re.findall(r"(?<!`)\breflink-worker ([a-z][^`#\n]*)|`reflink-worker ([a-z][^`]*)`", (ROOT / page).read_text())
    assert found or page == "docs/dashboards.md"
    for line in map("".join, found):
        parser, words = _parser(), line.split()
        while words and words[0] in commands(parser):
            parser = commands(parser)[words.pop(0)]
        assert parser.prog != "reflink-worker", f"no such command: reflink-worker {line}"
        for option in (word.partition("=")[0] for word in words if word.startswith("--")):
            assert option in parser._option_string_actions, f"reflink-worker {line}"
