"""Tests of the recogniser as a whole: styles of citations, texts without a citation, and accuracy on real citations."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from itertools import islice
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.parsing.scoring import cases_of, grobid, held_out, measure, returned, untagged
from reflink.entities import Inferred
from reflink.recognition import MAX_TEXT, recognise
from tests.data import ROOT, shared_data
from tests.profiles import examples
from tests.reflink.jats.articles import assert_fields

ZUCCOLO = (
    "Zuccolo, A. et al. Transposable element distribution, abundance and role in genome size variation in the genus Oryza. "
    "BMC Evol. Biol. 7, (2007)."
)
TURKISH = (
    "Dadvand P, Nieuwenhuijsen MJ, Agustí À, et al. Air pollution and biomarkers of systemic inflammation and tissue repair in "
    "COPD patients. Eur Respir J. 2014;44(3):603–613."
)
MDPI = (
    "Vitt P., Havens K., Kramer A.T., Sollenberger D., Yates E. Assisted Migration of Plants: Changes in Latitudes, Changes in "
    "Attitudes. Biol. Conserv. 2010;143:18–27."
)
WORDS = (
    *ZUCCOLO.split(), *TURKISH.split(), *MDPI.split(), "(2004)", "In:", "eds.", "vol.", "no.", "pp.", "“", "”", "van", "der",
    "Berg", "Jr", "&", ";", "[J]", "12(3):45-67", "accessed", "a)", "b)", "ß", "中国", "\u0301", "\ud800", "\x00", "2004a",
)  # fmt: skip
PIECES = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)


@given(st.one_of(st.text(max_size=300), PIECES))
@settings(max_examples=examples(300))
@example("")
@example(ZUCCOLO)
@example(TURKISH)
def test_every_value_occurs_in_the_text(text: str):
    found = recognise(text)
    assert found == recognise(text)
    if found is not None:
        single = (found.title, found.venue, found.year, found.volume, found.issue, found.first_page, found.last_page)
        values = [*found.last_names, *(str(value) for value in single if value is not None)]
        assert len(values) >= 2
        for value in values:
            assert value in text
            assert value == value.strip() != ""
        assert found.last_page is None or found.first_page is not None


@pytest.mark.parametrize(
    "unit",
    ["a", "(", "[", "a ", "A. ", "1", "1 ", "2004 ", "-", "“", "\u0301", "e\u0301", "  ", "a) ", "[ ", "1:2-3 ", "Wang X, "],
)
def test_repetitive_texts_of_the_maximum_length(unit: str):
    text = (unit * MAX_TEXT)[:MAX_TEXT]
    assert recognise(text) == recognise(text)
    assert recognise(text + "a") is None


TITLE = "Air pollution and biomarkers of systemic inflammation and tissue repair in COPD patients"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ZUCCOLO, Inferred(
            title="Transposable element distribution, abundance and role in genome size variation in the genus Oryza",
            last_names=("Zuccolo",), venue="BMC Evol. Biol", year=2007, volume="7")),
        (TURKISH, Inferred(
            title=TITLE, last_names=("Dadvand", "Nieuwenhuijsen", "Agustí"), venue="Eur Respir J", year=2014, volume="44",
            issue="3", first_page="603", last_page="613")),
        ("Mattei AL, Bailly N, Meissner A.DNA methylation: a historical perspective. Trends Genet. 2022;38:676–707.", Inferred(
            title="DNA methylation: a historical perspective", last_names=("Mattei", "Bailly", "Meissner"),
            venue="Trends Genet", year=2022, volume="38", first_page="676", last_page="707")),
    ],
    ids=["Nature", "Vancouver", "a title with a colon"],
)  # fmt: skip
def test_styles(text: str, expected: Inferred):
    assert recognise(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MDPI, {"last_names": ("Vitt", "Havens", "Kramer", "Sollenberger", "Yates"), "year": 2010, "volume": "143",
                "first_page": "18", "last_page": "27"}),
        ("Haslbeck, J., Ryan, O. & Dablander, F. Multimodality and skewness in emotion time series. Emotion23(8), 2117 (2023).",
         {"last_names": ("Haslbeck", "Ryan", "Dablander"), "year": 2023, "volume": "23"}),
        ("Hamre, D. & Procknow, J. J. (1966). Proc. Soc. Exp. Biol. Med. 121, 190–193.", {"title": None, "volume": "121"}),
        ("R. D. Shannon, Acta Crystallogr. A 1976, 32, 751.", {"title": None, "volume": "32"}),
        ("J. P. Perdew, K. Burke, M. Ernzerhof, Phys. Rev. Lett. 77 (1996) 3865.", {"title": None, "volume": "77"}),
        *((text.format("Patterns of growth in alpine plants"), {"last_names": names}) for text, names in (
            ("Smith J, van der Berg JP, O’Brien K. {}. J Ecol. 2004;92:1–9.", ("Smith", "van der Berg", "O’Brien")),
            ("X. Wang, Y.-L. Chen, and P. de la Cruz, “{},” J. Ecol., vol. 92, pp. 1–9, 2004.", ("Wang", "Chen", "de la Cruz")),
            ("Smith-Jones, A. B., & Müller, K. (2004). {}. Journal of Ecology, 92(1), 1–9.", ("Smith-Jones", "Müller")),
            ("SILVA, J. A.; SOUZA, M. {}. Journal of Ecology, v. 92, n. 1, p. 1-9, 2004.", ("SILVA", "SOUZA")),
        )),
    ],
)  # fmt: skip
def test_fields(text: str, expected: dict[str, Any]):
    assert_fields(recognise(text), **expected)


REMARKS = (" [J]", " [Master’s thesis]", " [abstract]", ". Available: [presentation]")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (MDPI, "Assisted Migration of Plants: Changes in Latitudes, Changes in Attitudes"),  # or the end is the journal
        *((TURKISH.replace(TITLE, TITLE + remark), TITLE) for remark in REMARKS),
    ],
)
def test_an_uncertain_title_is_omitted(text: str, title: str):
    found = recognise(text)
    assert found is not None
    assert found.title in (None, title)


@pytest.mark.parametrize(
    "text",
    [
        "World Health Organization. Global status report on road safety. Geneva: World Health Organization; 2013.",
        "United Nations (2013). A New Global Partnership: Eradicate poverty and transform economies through development.",
        "Smirnoff N (ed.). Antioxidants and reactive oxygen species in plants. Oxford: Blackwell; 2008.",
    ],
)
def test_organisations_and_editors_have_no_last_names(text: str):
    found = recognise(text)
    assert found is None or found.last_names == ()


@pytest.mark.parametrize(
    "text",
    [
        "Mittler, R. & Poulos, T. L. Ascorbate peroxidase in Antioxidants and reactive oxygen species in plants "
        "(ed. Smirnoff, N.) 87‒100 (Blackwell, 2008).",
        "Mittler R, Poulos TL. Ascorbate peroxidase. In: Smirnoff N, editor. Antioxidants and reactive oxygen species. 2008.",
    ],
)
def test_editors_are_not_authors(text: str):
    found = recognise(text)
    assert found is None or "Smirnoff" not in found.last_names


@pytest.mark.parametrize(
    "text",
    [
        "", "Ibid", "Ibid., p. 12.", "See above, note 4.", "doi:", "2004", "Smith, personal communication.",
        "a) X. Wang, Y. Li, J. Am. Chem. Soc. 2004, 126, 1234; b) Z. Chen, Angew. Chem. Int. Ed. 2005, 44, 567.",
        "We thank the editors and two reviewers, who in 2004 read an earlier version of this paper with great care.",
        "The data were collected between 1998 and 2004 in three regions, and all analyses were done in R version 3.4.",
        "Available from: . Accessed 12 May 2016.",
    ],
)  # fmt: skip
def test_texts_that_are_not_a_single_citation(text: str):
    assert recognise(text) is None


def test_a_date_of_access_is_not_the_year():
    found = recognise("Lynn B. The Pairing-Based Cryptography Library. Available at: . Accessed 12 May 2014.")
    assert found is None or found.year is None


#: Minimum precision and recall of each field on samples of the real sets. The tagger was trained on grobid's corpus, so
#: that these floors only find damaged weights or a wrong reading of labels.
FLOORS = {
    "held out": {
        "title": (0.97, 0.88), "last_names": (0.985, 0.92), "venue": (0.975, 0.9), "year": (0.98, 0.95),
        "volume": (0.985, 0.95),
        "issue": (0.97, 0.85), "first_page": (0.985, 0.94), "last_page": (0.985, 0.94),
    },
    "grobid": {
        "title": (0.97, 0.8), "last_names": (0.97, 0.85), "venue": (0.96, 0.82), "year": (0.99, 0.9), "volume": (0.98, 0.9),
        "issue": (0.95, 0.75), "first_page": (0.98, 0.93), "last_page": (0.985, 0.94),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FLOORS))
def test_precision_and_recall_on_real_citations(name: str):
    shared_data()
    cases = cases_of(held_out(40) if name == "held out" else grobid()[::8])
    assert len(cases) > 400
    for field, score in measure(cases, returned).items():
        precision, recall = FLOORS[name][field]
        row = score.row()
        assert row["precision"] >= precision, (field, row, score.wrong[:3])
        assert row["recall"] >= recall, (field, row)


def test_the_fields_of_untagged_references_agree_with_their_works():
    cases = [case for case in untagged() if case.group == "known"]
    assert cases
    for name, score in measure(cases, returned, beginning=True, lenient=True).items():
        if name != "last_names" and score.present:  # the works' own lists of names are shortened
            assert score.right >= 0.95 * score.given, (name, score.wrong)
            assert score.given >= 0.7 * score.present, name


def test_hardly_any_title_is_recognised_as_a_citation():
    with gzip.open(shared_data() / "works.jsonl.gz", "rt", encoding="utf-8") as lines:
        titles = [title for line in islice(lines, 0, 3000, 3) if (title := json.loads(line).get("title"))]
    assert sum(recognise(title) is not None for title in titles) <= 0.01 * len(titles)


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ("import reflink.recognition as r, reflink.recognition.tagger as t; print(t.shipped.cache_info().currsize)", "0"),
        ("import sys; from reflink.recognition import recognise; recognise('Wang X. Plants. J Ecol. 2004;92:1-9.');"
         "print(sorted({'torch', 'lxml', 'sklearn'} & set(sys.modules)))", "[]"),
    ],
    ids=["importing reads no weights", "recognising needs neither torch nor lxml"],
)  # fmt: skip
def test_modules_and_weights_that_a_process_loads(script: str, output: str):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == output


@pytest.mark.parametrize("more", ["; discussion 200-210", ", 200-210", "; discussion 9-12"])
def test_of_several_page_ranges_the_first_counts_whole(more: str) -> None:
    found = recognise(f"Wang X, Li Y. Plants of the Alps. J Ecol. 2004;92:1-9{more}.")
    assert found is not None
    assert (found.first_page, found.last_page) == ("1", "9")
