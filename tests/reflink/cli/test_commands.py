from __future__ import annotations

import re
from pathlib import Path

import pytest

from reflink.blocking.locators import RULES
from reflink.catalog import Catalog, snapshot
from reflink.entities import Link, Paper, Work
from reflink.journals.table import Journal
from tests.reflink.catalog.works_of import FakeEncoder
from tests.reflink.cli.conftest import WORKS, Reflink

LIVAK = "doi:10.1000/livak"
CITING = "doi:10.1000/citing"


@pytest.fixture
def works(tmp_path: Path) -> Path:
    path = tmp_path / "works.jsonl"
    path.write_bytes(b"".join(work.to_json() + b"\n" for work in WORKS))
    return path


def test_parse_prints_a_line_of_json_for_each_paper(reflink: Reflink, paper: Path) -> None:
    answer = reflink("parse", paper, "--json")
    assert answer.code == 0
    (line,) = answer.json
    parsed = Paper.from_dict(line)
    assert (parsed.id, parsed.title, parsed.ids.doi) == (CITING, "The citing paper", "10.1000/citing")
    first = line["references"][0]
    assert {**first, "raw_text": "", "id": ""} == {
        "id": "", "citing": CITING, "position": 1, "raw_text": "", "xml_id": "R1", "kind": "journal", "venue": "Methods",
        "title": "Analysis of relative gene expression data", "last_names": ["Livak", "Schmittgen"], "year": 2001,
        "volume": "25", "first_page": "402",
    }  # fmt: skip


def test_parse_prints_a_table(reflink: Reflink, paper: Path) -> None:
    answer = reflink("parse", paper)
    assert "The citing paper" in answer.out
    assert "Livak & Schmittgen (2001) Analysis of relative gene expression data — Methods" in answer.out


def test_an_unreadable_paper_exits_with_1_after_the_others(
    reflink: Reflink, paper: Path, catalog: Path, tmp_path: Path
) -> None:
    for command in (("parse",), ("link", "--catalog", catalog)):
        answer = reflink(*command, tmp_path / "absent.xml", paper, "--json")
        assert answer.code == 1
        assert answer.err == f"reflink: {tmp_path / 'absent.xml'}: cannot be read: No such file or directory\n"
        assert answer.json


def test_link_prints_a_link_for_each_reference(reflink: Reflink, paper: Path, catalog: Path) -> None:
    answer = reflink("link", paper, "--catalog", catalog, "--json")
    assert answer.code == 0
    first, second = map(Link.from_dict, answer.json)
    assert (first.citing, first.cited, first.method) == (CITING, LIVAK, "place")
    assert first.probability is not None
    assert first.probability > 0.9
    assert second.cited is None
    assert second.unresolved is not None
    assert "reasons" in answer.json[0]


def test_profile_paper_links_by_trigrams_without_a_probability(reflink: Reflink, paper: Path, catalog: Path) -> None:
    answer = reflink("link", paper, "--catalog", catalog, "--profile", "paper", "--json")
    assert answer.json[0]["cited"] == LIVAK
    assert "probability" not in answer.json[0]


def test_link_prints_a_table_and_a_count(reflink: Reflink, paper: Path, catalog: Path) -> None:
    answer = reflink("link", paper, "--catalog", catalog)
    assert LIVAK in answer.out
    assert answer.err.startswith("reflink: 2 references: ")


@pytest.mark.parametrize("named", ["1", "R1", "R1.1", f"{CITING}#R1.1"])
def test_explain_prints_the_candidates_of_the_reference(reflink: Reflink, paper: Path, catalog: Path, named: str) -> None:
    (answer,) = reflink("explain", paper, "--reference", named, "--catalog", catalog, "--json").json
    assert answer["reference"]["position"] == 1
    best = answer["candidates"][0]
    assert best["work"]["id"] == best["cited"] == LIVAK == answer["link"]["cited"]
    assert best["place"] is True
    assert 0.9 < best["lexical"] < 1.0
    assert best["probability"] == pytest.approx(answer["link"]["probability"], abs=1e-6)
    assert best["evidence"]["title"] == 1.0
    assert best["reasons"]


def test_explain_prints_the_searches_that_found_a_candidate(reflink: Reflink, paper: Path, catalog: Path) -> None:
    answer = reflink("explain", paper, "--reference", 1, "--catalog", catalog)
    assert answer.code == 0
    assert f"1. {LIVAK}" in answer.out
    assert "trigrams 0." in answer.out
    assert f"cites {LIVAK} (place)" in answer.out


def test_explain_uses_the_catalog_s_table_of_journals_as_link_does(reflink: Reflink, tmp_path: Path) -> None:
    venue, issns = "Zhurnal Teoreticheskoi Fiziki", ("0038-5646",)
    work = Work(id="doi:10.1000/jetp", venue=venue, issns=issns, year=2009, volume="46", fpage="516")
    (tmp_path / "works.jsonl").write_bytes(work.to_json())
    (tmp_path / "list.jsonl").write_bytes(Journal(names=("Sov Phys JETP",), issns=issns).to_json())
    out = tmp_path / "built"
    reflink("catalog", "build", tmp_path / "works.jsonl", "--out", out, "--no-vectors", "--journals", tmp_path / "list.jsonl")
    cited = "<ref><mixed-citation>Sov Phys JETP. 2009;46(2):516-21</mixed-citation></ref>"
    (tmp_path / "paper.xml").write_text(f"<article><front/><back><ref-list>{cited}</ref-list></back></article>")
    (answer,) = reflink("explain", tmp_path / "paper.xml", "--reference", 1, "--catalog", out, "--json").json
    assert answer["link"]["cited"] == work.id
    (candidate,) = answer["candidates"]
    assert candidate["evidence"]["venue"] == 1.0
    assert candidate["probability"] == pytest.approx(answer["link"]["probability"], abs=1e-6)


def test_explain_reports_an_unknown_reference(reflink: Reflink, paper: Path, catalog: Path) -> None:
    answer = reflink("explain", paper, "--reference", 3, "--catalog", catalog)
    assert (answer.code, answer.out) == (1, "")
    assert "no reference 3 among 2" in answer.err


def test_a_catalog_is_built_described_and_searched(reflink: Reflink, works: Path, tmp_path: Path) -> None:
    out = tmp_path / "built"
    answer = reflink("catalog", "build", works, "--out", out, "--no-vectors")
    assert answer.code == 0
    assert f"reflink: {out}: 3 works" in answer.err
    (info,) = reflink("catalog", "info", out, "--json", "--check").json
    assert (info["works"], info["trigrams"], info["vectors"], info["lexical_mode"]) == (3, 3, None, "Raw")
    assert re.search(rf"place rules +{RULES} *$", reflink("catalog", "info", out).out, re.MULTILINE)
    for spelling in ("doi:10.1000/LIVAK", "https://doi.org/10.1000/livak", "PMID: 11846609"):
        found = reflink("catalog", "find", out, "--id", spelling, "--json")
        assert LIVAK in [line["id"] for line in found.json], spelling
    assert reflink("catalog", "find", out, "--id", "pmid:1").code == 1
    found = reflink("catalog", "find", out, "--id", "pmid:11846609", "--json")
    assert sorted((line["id"], line["canonical"]) for line in found.json) == [(LIVAK, LIVAK), ("pmid:11846609", LIVAK)]
    assert Work.from_dict(found.json[0]).id
    titled = reflink("catalog", "find", out, "--title", "Relative gene-expression data, analysis of", "-k", 1, "--json")
    assert [line["id"] for line in titled.json] == [LIVAK]
    assert LIVAK in reflink("catalog", "find", out, "--title", "gene expression").out
    assert reflink("catalog", "find", out, "--title", "?!").code == 2


@pytest.mark.parametrize("rules", [RULES - 1, RULES + 1])
def test_info_reports_locators_by_other_rules(reflink: Reflink, tmp_path: Path, rules: int) -> None:
    Catalog.empty(lexical_mode=None).save(tmp_path / "old")
    assert "another version" not in reflink("catalog", "info", tmp_path / "old").out
    manifest = snapshot.read(tmp_path / "old")
    (tmp_path / "old" / snapshot.MANIFEST).write_bytes(manifest.model_copy(update={"place_rules": rules}).to_bytes())
    shown = " ".join(reflink("catalog", "info", tmp_path / "old").out.split())
    assert f"place rules {rules}, of another version of reflink: build it again" in shown


def test_invalid_lines_are_counted_and_fatal_only_with_strict(reflink: Reflink, works: Path, tmp_path: Path) -> None:
    with works.open("ab") as file:
        file.write(b"broken\n" * 30)
    command = ("catalog", "build", works, "--out", tmp_path / "built", "--no-vectors")
    answer = reflink(*command)
    assert answer.code == 0
    assert f"{works}:4: not JSON" in answer.err
    assert answer.err.count("not JSON") == 10
    assert "warning: 30 of 33 lines are invalid and were left out" in answer.err
    assert reflink(*command, "--strict").code == 1
    assert len(Catalog.open(tmp_path / "built")) == 3


def test_a_replaced_catalog_is_kept_unless_an_option_removes_it(reflink: Reflink, works: Path, tmp_path: Path) -> None:
    command = ("catalog", "build", works, "--out", tmp_path / "built", "--no-vectors")
    kept = tmp_path / "built.previous"
    assert "previous" not in reflink(*command).err
    assert f"{kept}: the replaced catalog" in reflink(*command).err
    assert len(Catalog.open(kept)) == 3
    assert "previous" not in reflink(*command, "--no-previous").err
    assert not kept.exists()


def test_vectors_are_built_reused_and_checked(
    reflink: Reflink, works: Path, paper: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoders: list[FakeEncoder] = []

    def load(*_: object) -> FakeEncoder:
        encoders.append(FakeEncoder())
        return encoders[-1]

    for command in ("catalog", "link"):
        monkeypatch.setattr(f"reflink.cli.{command}.load_encoder", load)
    first, second = tmp_path / "first", tmp_path / "second"
    assert reflink("catalog", "build", works, "--out", first).code == 0
    assert reflink("catalog", "build", works, "--out", second, "--vectors-from", first).code == 0
    assert [len(encoder.encoded) for encoder in encoders] == [3, 0]
    (found,) = reflink("explain", paper, "--reference", 1, "--catalog", second, "--json").json
    assert found["candidates"][0]["semantic"] is not None
    monkeypatch.setattr(FakeEncoder, "name", "fake@2")
    answer = reflink("link", paper, "--catalog", second)
    assert answer.code == 2
    assert "model fake@1, not fake@2" in answer.err
