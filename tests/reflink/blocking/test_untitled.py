"""Citations without title and authors: their fields, and texts that are not such citations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.blocking.locators import reference_places
from reflink.blocking.untitled import Untitled, fields_of, in_supplement, read, title_proper
from reflink.entities import Reference


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Neuroimage. 2009 Jun;46(2):516-21", ("Neuroimage", 2009, "46", "516")),
        ("Proc Natl Acad Sci U S A. 2006 Jan 17;103(3):626-31", ("Proc Natl Acad Sci U S A", 2006, "103", "626")),
        ("PLoS Med. 2009 Jul 21;6(7):e1000097.", ("PLoS Med", 2009, "6", "e1000097")),
        ("Genome Biol. 2010;11(3):R36", ("Genome Biol", 2010, "11", "R36")),
        ("Mov Disord. 2005;20 Suppl 11:S11-6", ("Mov Disord", 2005, "20", "S11")),
        ("Lancet (London, England). 2012;380(9859):2095-128; quiz 2130", ("Lancet (London, England)", 2012, "380", "2095")),
        ("Plant J. 1998 Dec;16(6):735-43", ("Plant J", 1998, "16", "735")),
        ("J Appl Physiol (1985). 2016 Jan 15;120(2):188-95", ("J Appl Physiol (1985)", 2016, "120", "188")),
        ("Mol Cell. 2017 Jun 1;66(5):597-609.e5", ("Mol Cell", 2017, "66", "597")),
        ("Best Pract Res Clin Gastroenterol. 2018 Oct - Dec;36-37:3-8", ("Best Pract Res Clin Gastroenterol", 2018, "36", "3")),
        ("[12] Angew. Chem. Int. Ed. 2000, 39, 4260-4262;", ("Angew. Chem. Int. Ed", 2000, "39", "4260")),
        ("Nature 2017, 546, 426.", ("Nature", 2017, "546", "426")),
        ("Phys. Rev. Lett. 102, 123456 (2009)", ("Phys. Rev. Lett", 2009, "102", "123456")),
        ("Nature 227 (1970) 680-685", ("Nature", 1970, "227", "680")),
    ],
)  # fmt: skip
def test_the_fields_of_a_citation_without_title(text: str, fields: tuple[str, int, str, str]):
    assert read(text) == Untitled(*fields)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Nature",
        "Felsenstein J. 1985;39:783-91",
        "Nat Commun. 2018 Jan 9;9(1):",  # no page
        "Trott O, Olson AJ. J Comput Chem. 2010;31:455-61",  # names
        "Smith et al. Nature 2009; 1:2",
        "T. Kawamura, I. Muraoka, Antioxidants 2018, 7, 119.",
        "Huskisson EC. Measurement of pain. Lancet 1974;2(7889):1127-31.",  # a name and a title
        "Ciechanover A. The ubiquitin-proteasome proteolytic pathway. Cell. 1994;79(1):13-21.",
        "Does this work for you? BMJ 2008; 337: a2281",
        "Fungi and food spoilage: a new handbook. Springer; 2009",
    ],
)
def test_other_texts_are_not_citations_without_title(text: str):
    assert read(text) is None


@given(
    st.text(max_size=300) | st.lists(st.sampled_from("a A. 2009 ; : ( ) 12 , - Suppl pp".split()), max_size=80).map(" ".join)
)
def test_any_text_is_read(text: str):
    found = read(text)
    assert found is None or (found.venue and found.volume and found.first_page and str(found.year) in text)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"venue": "NeuroImage", "first_page": "517"}, ("NeuroImage", 2009, "46", "517")),
        (
            {"raw_text": "", "venue": "NeuroImage", "year": 2009, "volume": "46", "first_page": "516"},
            ("NeuroImage", 2009, "46", "516"),
        ),
        ({"raw_text": "", "venue": "NeuroImage", "year": 2009, "first_page": "516"}, None),
        (
            {"raw_text": "A title. Neuroimage 2009", "venue": "NeuroImage", "year": 2009, "volume": "46", "first_page": "516"},
            None,
        ),
        ({"title": "A title"}, None),
        ({"chapter_title": "A title"}, None),
        ({"last_names": ("Li",)}, None),
        ({"collab": "The Group"}, None),
        ({"collectives": ("The Group",)}, None),
    ],
)
def test_tagged_fields_outrank_the_text(fields: dict[str, Any], found: tuple[str, int, str, str] | None):
    reference = Reference(id="r", citing="c", position=1, raw_text="Neuroimage. 2009 Jun;46(2):516-21")
    assert fields_of(reference.model_copy(update=fields)) == found


def test_a_citation_without_title_has_a_locator_with_the_year():
    reference = Reference(id="r", citing="c", position=1, raw_text="Neuroimage. 2009 Jun;46(2):516-21")
    assert reference_places(reference) == ("y:2009:46:516",)
    assert reference_places(reference.model_copy(update={"last_names": ("Li",)})) == ()


@pytest.mark.parametrize(
    ("venue", "proper"),
    [
        ("FASEB journal : official publication of the Federation", "FASEB journal"),
        ("Clinica chimica acta; international journal", "Clinica chimica acta"),
        ("Documenta ophthalmologica. Advances in ophthalmology", "Documenta ophthalmologica"),
        ("Zeitschrift für Parasitenkunde", "Zeitschrift Parasitenkunde"),
        ("J. Am. Chem. Soc.", "J. Am. Chem. Soc."),
        ("", ""),
    ],
)
def test_the_title_proper_of_a_journal(venue: str, proper: str):
    assert title_proper(venue) == proper


def test_pages_of_supplements():
    assert [page for page in ("S12", "s1", "12", "e12", "", "S", "Suppl") if in_supplement(page)] == ["S12", "s1"]
