"""The benchmark on third-party labels: formats, figures, and the command on small and on real files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.labels import __main__ as command
from benchmarks.labels import dblp_acm, fields, fuzzycat, glutton, pubmed
from benchmarks.labels.linking import Library, probability
from benchmarks.labels.scores import Answer, scores
from benchmarks.labels.wording import first_page, last_names, one_line, reference_of, unescaped, year_of
from reflink.entities import Ids, Work
from reflink.evaluation.vectors import CachedEncoder
from tests.benchmarks.labels.labelsets import OTHER
from tests.data import shared_data
from tests.reflink.catalog.works_of import FakeEncoder
from tests.reflink.evaluation import pubmed_files


def test_last_names_are_before_the_comma_or_at_the_end():
    names = ["Felipe Cariño", "Jr.", "Bachelet Jeria, Michelle", "Bohr, Jr.", "Van Dyke III", "&NA;", ""]
    assert last_names(names) == ("Cariño", "Bachelet Jeria", "Bohr", "Dyke")


def test_lines_of_a_pdf_are_joined_and_numbers_keep_their_dash():
    assert one_line("Endo-\nscopic sphincterotomy:\n8-year Long-\nTerm 496-\n7") == (
        "Endoscopic sphincterotomy: 8-year Long- Term 496- 7"
    )


def test_html_character_references_are_replaced():
    assert unescaped("Lud&#228;scher  &amp; storage &; b") == "Ludäscher & storage &; b"


@given(st.text("0123456789-–ex ", max_size=12))
def test_a_first_page_is_the_beginning_of_the_pages(pages: str):
    found = first_page(pages)
    assert found is None or (found in pages and "-" not in found and "–" not in found)


def test_years_are_read_from_numbers_with_a_fraction():
    assert [year_of(text) for text in ("1997.0", "", None, "vol. 12")] == [1997, None, None, None]


def test_a_citation_made_of_a_record_has_its_fields_and_no_identifier():
    work = Work(id="x", ids=Ids(doi="10.1000/x"), title="On ice", authors=("Bo",), year=2001, volume="4", fpage="17")
    reference = reference_of(work, ["Ann Bo"])
    assert reference.raw_text == "Ann Bo. On ice. 2001. 4:17"
    assert (reference.title, reference.first_page, reference.ids) == ("On ice", "17", Ids())


@given(st.lists(st.sampled_from([Answer(p, li, p and li and r) for p in (0, 1) for li in (0, 1) for r in (0, 1)]), max_size=60))
def test_figures_equal_plain_counting_and_lie_in_their_intervals(given_answers: list[Answer]):
    found = scores(given_answers)
    linked, present = (sum(map(bool, each)) for each in ([a.linked for a in given_answers], [a.present for a in given_answers]))
    right = sum(bool(answer.right) for answer in given_answers)
    assert found["precision"] == (right / linked if linked else None)
    assert found["recall"] == (right / present if present else None)
    for name in ("precision", "recall", "false_link", "accuracy"):
        low, high = found[f"{name}_interval"]
        assert 0 <= low <= high <= 1
        assert found[name] is None or low - 1e-6 <= found[name] <= high + 1e-6
    if found["f1"] is not None and linked and present:
        precision, recall = right / linked, right / present
        assert found["f1"] == pytest.approx(2 * precision * recall / (precision + recall) if right else 0)


def test_the_probability_of_a_fuzzycat_pair_is_symmetric(data: Path):
    pairs = fuzzycat.read(data / "benchmarks" / "fuzzycat")
    assert [(pair.names, pair.status) for pair in pairs] == [
        (("a", "b"), "EXACT"),
        (("a", "c"), "DIFFERENT"),
        (("b", "c"), "AMBIGUOUS"),
    ]
    same, different, _ = pairs
    assert fuzzycat.work_of(same.left).title == "Growth of crystals: a study of ice in clouds"
    turned = fuzzycat.Pair(same.right, same.left, "EXACT", "")
    assert same.probability() == pytest.approx(turned.probability())
    assert same.probability() > 0.5 > different.probability()
    table = fuzzycat.measure(data)
    assert table.rows[0].figures["accuracy"] == 1
    assert table.rows[0].figures["n"] == 2
    assert "AMBIGUOUS, 1 pairs" in table.notes[-1]


def test_dblp_is_linked_into_acm_by_row_numbers(data: Path, library: Library):
    folder = data / "benchmarks" / "dblp_acm"
    acm, dblp = dblp_acm.read(folder / "acm.csv", "acm"), dblp_acm.read(folder / "dblp.csv", "dblp")
    assert acm["0"][0].title == 'Views over "old" relations in stores'
    assert acm["0"][0].authors == ("Bo", "Dür")
    assert dblp["0"][0].title == "Beetles 100% counted"
    row = dblp_acm.linkage(folder, library)
    assert (row.figures["n"], row.figures["present"], row.figures["right"], row.figures["linked"]) == (3, 2, 2, 2)


def test_records_serialised_for_ditto_are_read_with_empty_fields():
    assert dblp_acm.serialised(OTHER) == {"title": "beetles of the north", "authors": "", "venue": "", "year": "1970"}


def test_identifiers_do_not_affect_the_verdict_on_a_pair():
    work = Work(id="x", ids=Ids(doi="10.1000/x"), title="Growth of crystals in clouds", authors=("Bo",), year=2001)
    reference = reference_of(work)
    with_ids = reference.model_copy(update={"ids": work.ids, "ids_weak": work.ids})
    assert probability(with_ids, work) == probability(reference, work)


def test_the_command_prints_and_writes_every_set(
    data: Path, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(Library, "seed", lambda cache, known: None)
    monkeypatch.setattr(Library, "of", lambda cache: library)
    monkeypatch.setattr(command, "SETS", [name for name in command.SETS if name not in fields.SETS])
    path = tmp_path / "figures.json"
    (data / "pubmed").mkdir()
    pubmed_files.written(data / "pubmed")
    assert command.main(["--data", str(data), "--json", str(path), "--cache", str(tmp_path)]) == 0
    sets = json.loads(path.read_text(encoding="utf-8"))["sets"]
    assert set(sets) == {"glutton", "fuzzycat", "dblp-acm", "pubmed"}
    rows = {(row["asked"], row["part"]): row for row in sets["pubmed"]["rows"]}
    natural, mostly = (rows[f"text alone, {world}", pubmed.PARTS["neither"]] for world in ("natural absence", "80% present"))
    assert (natural["n"], natural["present"], natural["right"], natural["linked"]) == (60, 30, 30, 30)
    assert (mostly["present"], mostly["right"]) == (30, 30)
    everything = rows["text alone, 80% present", "all"]
    assert everything["present"] / everything["n"] == pytest.approx(0.8, abs=0.02)
    assert [peer["f1"] for peer in sets["dblp-acm"]["peers"]] == [0.9899, 0.9903]
    printed = capsys.readouterr().out
    assert "Crossref's REST API" in printed
    assert "AMBIGUOUS" in printed


def test_a_new_cache_starts_with_known_vectors_and_an_existing_one_is_unchanged(tmp_path: Path):
    known, cache = tmp_path / "known", tmp_path / "deep" / "labels"
    encoder = CachedEncoder(FakeEncoder(), known)
    encoder.encode(["on ice", "on snow"])
    Library.seed(cache, known)
    assert len(CachedEncoder(FakeEncoder(), cache)) == 2
    encoder.encode(["on rain"])
    Library.seed(cache, known)
    assert len(CachedEncoder(FakeEncoder(), cache)) == 2
    Library.seed(tmp_path / "other", tmp_path / "nowhere")
    assert not (tmp_path / "other").exists()


def test_the_command_without_data_names_the_option(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("REFLINK_SHARED_DATA", str(tmp_path))
    assert command.main([]) == 2
    assert "--data" in capsys.readouterr().err


def test_the_real_sets_have_the_documented_sizes():
    folder = shared_data() / "benchmarks"
    labelled = glutton.read(folder / "biblio_glutton" / glutton.FILE)
    assert (len(labelled), len({each.label.doi for each in labelled})) == (17_015, 16_803)
    pairs = fuzzycat.read(folder / "fuzzycat")
    assert [sum(pair.status == status for pair in pairs) for status in ("DIFFERENT", "EXACT", "STRONG")] == [126, 59, 47]
    truth = dblp_acm.read_truth(folder / "dblp_acm" / "gt.csv")
    acm, dblp = (dblp_acm.read(folder / "dblp_acm" / f"{name}.csv", name) for name in ("acm", "dblp"))
    assert (len(truth), len(acm), len(dblp)) == (2224, 2294, 2616)
    assert truth.keys() <= dblp.keys()
    assert set(truth.values()) <= acm.keys()
    test = dblp_acm.read_pairs(folder / "dblp_acm" / "ditto_dirty_test.txt.gz")
    assert (len(test), sum(same for *_, same in test)) == (2473, 444)


def test_most_verdicts_on_real_pairs_agree_with_the_labels():
    data = shared_data()
    assert fuzzycat.measure(data).rows[0].figures["accuracy"] > 0.8
    pairs = dblp_acm.read_pairs(data / "benchmarks" / "dblp_acm" / "ditto_structured_test.txt.gz")[:400]
    assert dblp_acm.decided("a slice", pairs).figures["f1"] > 0.85
