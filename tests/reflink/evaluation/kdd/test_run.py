"""Edges from sources: by the linker and by the baselines."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflink.catalog import Catalog
from reflink.entities import Ids, Inferred, Reference, Work
from reflink.evaluation.kdd.authors import BASELINES, AuthorsAndYear, ByAuthors
from reflink.evaluation.kdd.graph import Edge
from reflink.evaluation.kdd.papers import read_sources
from reflink.evaluation.kdd.run import REFLINK, figures, paper_numbers, predict
from reflink.linking.linker import Linker
from tests.reflink.evaluation.kdd.test_papers import BIBITEMS, HEAD


def paper(number: str, **fields: object) -> Work:
    return Work.from_dict({"id": f"arxiv:hep-ph/{number}", "ids": Ids(arxiv=f"hep-ph/{number}"), **fields})


MEYER = paper("9907233", title="Bosons", authors=("Meyer",), venue="Phys. Rev. D", volume="60", fpage="094020", year=1999)
SCHULZ = Work(
    id="doi:10.1000/z", ids=Ids(doi="10.1000/z", arxiv="hep-ph/9307001"), title="Nucleons", authors=("Schulz",),
    venue="Z. Phys.", volume="C64", fpage="275", year=1994,
)  # fmt: skip
ELSEWHERE = Work(id="doi:10.1000/other", ids=Ids(doi="10.1000/other"), title="Nucleons", authors=("Weber",), year=1994)


@pytest.fixture
def catalog() -> Catalog:
    made = Catalog.empty()
    made.add([MEYER, SCHULZ, ELSEWHERE, paper("9912001", title="The decay of a boson", authors=("Meyer",), year=1999)])
    return made


def test_edges_are_links_to_papers_of_the_archive(catalog: Catalog, tmp_path: Path) -> None:
    assert sorted(paper_numbers(catalog, "hep-ph").values()) == ["9307001", "9907233", "9912001"]
    assert paper_numbers(catalog, "hep-th") == {}
    (tmp_path / "9912001").write_text(BIBITEMS)
    (tmp_path / "9912002").write_text(HEAD)
    (tmp_path / "9912003").write_bytes(b"%PDF-1.4")
    errors: list[str] = []
    found = predict(
        read_sources(tmp_path, "hep-ph"), Linker(catalog), "hep-ph", on_error=lambda number, _: errors.append(number)
    )
    edges: set[Edge] = {("9912001", "9907233"), ("9912001", "9307001")}
    assert found.predicted[REFLINK] == edges
    assert (found.papers, found.unread, found.without_references, found.references) == (3, 1, 1, 2)
    assert errors == ["9912003"]
    true = edges | {("9912002", "9907233"), ("9900000", "9907233")}
    measured = figures(found, true)
    row = measured["rows"][0]
    assert (row["right"], row["predicted"], row["accuracy"], row["symmetric_difference"]) == (2, 2, 1.0, 2)
    assert (row["recall"], row["recall_reachable"], measured["reachable"]) == (0.5, 2 / 3, 3)
    assert (measured["with_locator"], measured["without_locator"]) == (3, 0)
    assert (row["recall_with_locator"], row["recall_without_locator"]) == (2 / 3, None)
    for name in ("accuracy", "recall"):
        assert row[f"{name}_interval"][0] <= row[name] <= row[f"{name}_interval"][1]
    assert [each["approach"] for each in measured["rows"]] == [REFLINK, *(each.name for each in BASELINES)]


def test_without_papers_there_are_no_shares(catalog: Catalog) -> None:
    measured = figures(predict([], Linker(catalog), "hep-ph"), set())
    assert all(row["accuracy"] is row["recall"] is row["recall_reachable"] is None for row in measured["rows"])
    assert measured["ms_per_reference"] is None


def cite(*names: str, year: int | None = 1999) -> Reference:
    return Reference(id="c#1.1", citing="c", position=1, inferred=Inferred(last_names=names, year=year))


@pytest.mark.parametrize(("names", "year", "baseline", "cited"), [
    (("Meyer",), 1999, AuthorsAndYear("first", 0), None),  # two works of one year
    (("Meyer", "Schulz"), 1998, AuthorsAndYear("first", 0), "b"),
    (("Schulz", "Meyer"), 1998, AuthorsAndYear("first", 0), None),
    (("Schulz", "Meyer"), 1998, AuthorsAndYear("all", 0), "b"),
    (("Meyer", "Weber"), 1998, AuthorsAndYear("all", 0), None),
    (("Meyer",), 2000, AuthorsAndYear("first", 2), None),
    (("Schulz",), 2001, AuthorsAndYear("first", 2), "d"),
    (("Schulz",), 2004, AuthorsAndYear("first", 2), None),
    (("Schulz",), 2000, AuthorsAndYear("first", 0), "d"),  # of print, or of the publication online
    (("Schulz",), None, AuthorsAndYear("first", 0), None),
    ((), 1999, AuthorsAndYear("all", 0), None),
])  # fmt: skip
def test_a_baseline_links_the_only_work_of_authors_and_year(
    names: tuple[str, ...], year: int | None, baseline: AuthorsAndYear, cited: str | None
) -> None:
    works = ByAuthors([
        Work(id="a", authors=("Meyer",), year=1999), Work(id="c", authors=("Meyer", "Weber"), year=1999),
        Work(id="b", authors=("Meyer", "Schulz"), year=1998), Work(id="d", authors=("Schulz",), year=2001, online_year=2000),
        Work(id="e", authors=("Schulz",), year=None),
    ])  # fmt: skip
    assert works.link(cite(*names, year=year), baseline) == cited
