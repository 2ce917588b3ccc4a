"""What Jobs and tests of the chart run, and what its operators are told to type, reflink-worker takes."""

from __future__ import annotations

import argparse
import re

import pytest

from tests.data import ROOT
from tests.helm.chart import INSTALLS, pods
from workers.cli import _parser

PAGES = (
    "docs/operations.md",
    "docs/runbook.md",
    "docs/dashboards.md",
    "docs/curating.md",
    "helm/reflink/README.md",
    "helm/reflink/templates/NOTES.txt",
)


@pytest.mark.parametrize("install", INSTALLS)
def test_every_container_of_ours_runs_a_command_that_there_is(install):
    for name, pod in pods(install):
        one = pod["spec"]["containers"][0]
        assert callable(_parser().parse_args(one["args"]).run), name
        assert "command" not in one, name  # else the image's start script would be passed over


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Those under a parser, by name."""
    return {
        name: each for action in parser._actions if isinstance(action.choices, dict) for name, each in action.choices.items()
    }


@pytest.mark.parametrize("page", PAGES)
def test_a_page_for_operators_names_commands_and_options_that_there_are(page):
    told = re.findall(r"(?<!`)\breflink-worker ([a-z][^`#\n]*)|`reflink-worker ([a-z][^`]*)`", (ROOT / page).read_text())
    assert told or page == "docs/dashboards.md"
    for line in map("".join, told):
        parser, words = _parser(), line.split()
        while words and words[0] in commands(parser):
            parser = commands(parser)[words.pop(0)]
        assert parser.prog != "reflink-worker", f"no such command: reflink-worker {line}"
        for option in (word.partition("=")[0] for word in words if word.startswith("--")):
            assert option in parser._option_string_actions, f"reflink-worker {line}"
