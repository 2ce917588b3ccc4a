"""docs/dependencies.md has a row for every requirement of pyproject.toml, and no other rows."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.data import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGE = (ROOT / "docs" / "dependencies.md").read_text()
EXTRAS = PROJECT["optional-dependencies"]


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\s<>=!~\[;]", each)[0] for each in requirements}


def rows(section: str) -> set[str]:
    body = re.split(r"^## ", PAGE.split(f"\n## {section}\n")[1], flags=re.MULTILINE)[0]
    cells = [line.split("|")[1].strip() for line in body.splitlines() if line.startswith("| ")]
    return {cell for cell in cells if cell != "package" and "(by " not in cell}


@pytest.mark.parametrize(
    ("section", "requirements"),
    [("Core", PROJECT["dependencies"]), *((f"Extra `{extra}`", needed) for extra, needed in EXTRAS.items())],
)
def test_every_dependency_has_its_row(section, requirements):
    assert rows(section) == names(requirements)
