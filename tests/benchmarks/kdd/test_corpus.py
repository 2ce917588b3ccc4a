"""The rendered corpus: what is written as LaTeX is read again, and its edges are those of the references."""

from __future__ import annotations

import random
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.kdd.__main__ import main
from benchmarks.kdd.corpus import share, write
from benchmarks.kdd.latex import LISTS, abstract, source, tex
from reflink.entities import Ids, Paper, Reference, Work
from reflink.evaluation.kdd.abstracts import read_abstract
from reflink.evaluation.kdd.graph import read_graph
from reflink.evaluation.kdd.papers import paper_files, read_sources
from reflink.formats.latex.citations import Reading
from tests.data import shared_data
from tests.profiles import examples

_LETTERS = st.text(st.sampled_from("abcxyzABC ,.éüñçøßłÅ&%#_αΒω–“”"), max_size=60).map(lambda text: " ".join(text.split()))


@given(_LETTERS)
@settings(max_examples=examples(200))
def test_what_is_written_as_latex_is_read_as_before(text: str) -> None:
    read = " ".join(Reading({}, len(text) + 100).plain(tex(text)).split())
    assert read.translate(str.maketrans("“”", '""')) == text.translate(str.maketrans("“”", '""'))


REFERENCES = [
    Reference(
        id=f"c#{number}", citing="c", position=number, last_names=(name, "Müller"), title=f"On the {word} of bosons",
        venue="Z. Phys. C", year=1990 + number, volume=str(60 + number), first_page=str(270 + number),
    )
    for number, (name, word) in enumerate([("Cleymans", "decay"), ("Dadić", "mass"), ("Joubert", "spin"), ("Berg", "age")], 1)
]  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_each_reference_of_a_paper_is_read_again(tmp_path: Path, seed: int) -> None:
    (tmp_path / "9912001").write_text(source("A title", ["Meyer"], REFERENCES, random.Random(seed)))
    (found,) = read_sources(tmp_path, "hep-ph")
    assert isinstance(found.paper, Paper)
    read = found.paper.references
    assert len(read) == len(REFERENCES)
    fields = [each.inferred or each for each in read]
    assert [(each.volume, each.first_page, each.year) for each in fields] == [
        (each.volume, each.first_page, each.year) for each in REFERENCES
    ]


def test_the_lists_have_the_published_shares() -> None:
    environments: dict[str, int] = {}
    entries: dict[str, int] = {}
    for (environment, entry), files in LISTS.items():
        environments[environment] = environments.get(environment, 0) + files
        entries[entry] = entries.get(entry, 0) + files
    assert environments == {
        "thebibliography": 28_294, "references": 5_368, "ref": 1_209, "bibliography": 311, "bye": 290, "numberedbib": 1,
    }  # fmt: skip
    published = {"\\bibit": 16, "\\item": 1_016, "\\ref": 865, "\\noindent": 226}
    assert {name: entries[name] for name in published} == published


def test_an_abstract_states_the_work_again() -> None:
    work = Work(
        id="a", ids=Ids(doi="10.1/a"), title="Größe & Alter", authors=("Müller", "van Berg"), venue="Z. Phys. C", year=1994,
        volume="64", fpage="275",
    )  # fmt: skip
    read = read_abstract(abstract(work, "0001001", journal=True, submitted=1993), "x", "hep-ph")
    assert (read.title, read.authors, read.venue, read.volume, read.fpage) == (
        work.title, work.authors, work.venue, work.volume, work.fpage,
    )  # fmt: skip
    assert (read.year, read.online_year, read.ids.doi) == (1994, 1993, None)
    without = read_abstract(abstract(work, "0001001", journal=False, submitted=1993), "x", "hep-ph")
    assert (without.venue, without.year) == (None, 1993)


def test_a_share_depends_on_names_alone() -> None:
    assert share("a", "b") == share("a", "b") != share("ab")
    assert 0 <= share("x") < 1


def test_edges_are_between_papers_and_the_collection(tmp_path: Path) -> None:
    data = shared_data()
    counts = write(
        data / "works.jsonl.gz", data / "references_dev.jsonl.gz", tmp_path / "corpus", papers=20, collection=600, seed=1
    )
    edges = read_graph(tmp_path / "corpus" / "edges").edges
    papers = {number for number, _ in paper_files(tmp_path / "corpus" / "papers")}
    collection = {path.stem for path in (tmp_path / "corpus" / "abstracts").glob("*.abs")}
    assert counts["papers"] == len(papers) == 20
    assert counts["collection"] == len(collection) == 600
    assert counts["edges"] == len(edges) > 20
    assert {citing for citing, _ in edges} == papers
    assert {cited for _, cited in edges} <= collection
    assert counts["references"] > counts["edges"]


def test_an_existing_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kdd", "--works", "w", "--references", "r", "--folder", str(tmp_path)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert f"{tmp_path} exists" in capsys.readouterr().err


@pytest.mark.full
def test_the_command_renders_and_evaluates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shared_data()
    written = tmp_path / "figures.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "sys.argv", ["kdd", "--papers", "15", "--collection", "500", "--json", str(written), "--", "--no-vectors"]
        )
        assert main() == 0
    measured = orjson.loads(written.read_bytes())
    row = measured["rows"][0]
    assert row["approach"] == "reflink"
    assert 0 < row["right"] <= row["predicted"]
    assert row["symmetric_difference"] == row["true"] + row["predicted"] - 2 * row["right"]
    assert "recurrent networks" in capsys.readouterr().out
