"""A paper, a catalog, and the result of a command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reflink.catalog import Catalog
from reflink.cli import main
from reflink.entities import Ids, Work

PAPER = """<article><front>
<journal-meta><journal-title>Cell</journal-title></journal-meta>
<article-meta>
<article-id pub-id-type="doi">10.1000/citing</article-id>
<title-group><article-title>The citing paper</article-title></title-group>
</article-meta></front>
<back><ref-list>
<ref id="R1"><element-citation publication-type="journal">
<person-group person-group-type="author">
<name><surname>Livak</surname></name><name><surname>Schmittgen</surname></name>
</person-group>
<article-title>Analysis of relative gene expression data</article-title>
<source>Methods</source><year>2001</year><volume>25</volume><fpage>402</fpage>
</element-citation></ref>
<ref id="R2"><element-citation publication-type="journal">
<person-group person-group-type="author"><name><surname>Nobody</surname></name></person-group>
<article-title>Wholly unknown matters of no concern</article-title>
<source>Nowhere</source><year>1950</year>
</element-citation></ref>
</ref-list></back></article>"""

_TITLE = "Analysis of relative gene expression data"
WORKS = [
    Work(
        id="doi:10.1000/livak", ids=Ids(doi="10.1000/livak", pmid="11846609"), title=_TITLE,
        authors=("Livak", "Schmittgen"), venue="Methods", year=2001, volume="25", fpage="402",
    ),
    Work(id="pmid:11846609", ids=Ids(pmid="11846609"), title="Relative gene expression [sic]", status="retracted"),
    Work(id="doi:10.1000/other", ids=Ids(doi="10.1000/other"), title="Another work", authors=("Meyer",), year=1999),
]  # fmt: skip


@dataclass
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Reflink = Callable[..., Answer]


@pytest.fixture
def reflink(capsys: pytest.CaptureFixture[str]) -> Reflink:
    def run(*argv: object) -> Answer:
        code = main([str(argument) for argument in argv])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Answer(code, captured.out, captured.err)

    return run


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    path = tmp_path / "paper.xml"
    path.write_text(PAPER)
    return path


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    made = Catalog.empty()
    made.add(WORKS)
    made.save(tmp_path / "catalog")
    return tmp_path / "catalog"
