"""The commands of docs/sources.md, run on a real file of PubMed."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reflink.catalog.filters import Filters
from reflink.merging import Rules
from reflink.sources.registry import NAMES
from reflink.updating.config import read_config
from tests.data import ROOT, jats_folder, shared_data

PAGE = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
#: An article of 2010 that cites an article of 1979 in the file.
ARTICLE = "allofplos__10.1371_journal.pone.0010685.xml"
REFERENCE = "doi:10.1371/journal.pone.0010685#pone.0010685-Playfair1.1"
CITED = "doi:10.1111/j.1365-3024.1979.tb00706.x"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_from_an_empty_disk_to_links_works_on_a_file_of_pubmed(tmp_path: Path):
    """Fetching is left out, and `link` prints JSON."""
    for folder in ("pubmed", "papers"):
        (tmp_path / folder).mkdir()
    shutil.copy(shared_data() / "medline" / "pubmed20n0014.xml.gz", tmp_path / "pubmed")
    shutil.copy(jats_folder() / ARTICLE, tmp_path / "papers")
    commands = [line for line in blocks("sh")[0].splitlines() if line.startswith("reflink ")]
    assert [shlex.split(line)[1] for line in commands] == ["catalog", "catalog", "link"]
    for line in commands:
        arguments = [*shlex.split(line)[1:], *(["--json"] if line.startswith("reflink link") else [])]
        done = subprocess.run([sys.executable, "-m", "reflink.cli", *arguments], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert len(gzip.decompress((tmp_path / "works.jsonl.gz").read_bytes()).splitlines()) == 30_000
    links = {link["reference"]: link for link in map(json.loads, done.stdout.splitlines())}
    assert links[REFERENCE]["cited"] == CITED


def test_the_configuration_is_valid(tmp_path: Path):
    (text,) = blocks("toml")
    path = tmp_path / "sources.toml"
    path.write_text(text)
    config = read_config(path)
    assert [each.name for each in config.sources] == ["medline", "crossref", "pmc"]
    assert (config.sources[0].max_age_days, config.filters.min_title, config.rules.compare) == (3, 10, True)


def test_each_source_has_a_row_and_a_section():
    rows = re.findall(r"^\| (`[^|]+) \| \[[^\]]+\]\(#([\w-]+)\)", PAGE, re.MULTILINE)
    headings = {re.sub(r"[^\w -]", "", line).lower().replace(" ", "-") for line in re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)}
    assert {anchor for _, anchor in rows} <= headings
    assert tuple(name for names, _ in rows for name in re.findall(r"`(\w+)`", names)) == NAMES


@pytest.mark.parametrize("model", [Rules, Filters], ids=["rules", "filters"])
def test_each_rule_and_filter_has_a_row(model: type[Rules] | type[Filters]):
    rows = {name for row in re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert model.model_fields.keys() <= rows
