"""Citations without title and authors: their fields, and texts that are not such citations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.blocking.locators import reference_places
from reflink.blocking.untitled import Untitled, fields_of, in_supplement, read, read_authored, title_proper
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
        ("Spine (Phila Pa 1976). 2000 Dec 15;25(24):3186-91", ("Spine (Phila Pa 1976)", 2000, "25", "3186")),
        ("Biopolymers. 2000-2001;56(4):257-65", ("Biopolymers", 2000, "56", "257")),
        ("Mol Cell. 2017 Jun 1;66(5):597-609.e5", ("Mol Cell", 2017, "66", "597")),
        ("Best Pract Res Clin Gastroenterol. 2018 Oct - Dec;36-37:3-8", ("Best Pract Res Clin Gastroenterol", 2018, "36", "3")),
        ("[12] Angew. Chem. Int. Ed. 2000, 39, 4260-4262;", ("Angew. Chem. Int. Ed", 2000, "39", "4260")),
        ("Nature 2017, 546, 426.", ("Nature", 2017, "546", "426")),
        ("Phys. Rev. Lett. 102, 123456 (2009)", ("Phys. Rev. Lett", 2009, "102", "123456")),
        ("Nature 227 (1970) 680-685", ("Nature", 1970, "227", "680")),
        ("Nature (London) 227, 680 (1970)", ("Nature (London)", 1970, "227", "680")),
        ("Astrophys. J. 734, L27 (2011)", ("Astrophys. J", 2011, "734", "L27")),
        ("2D Mater. 9, 045036 (2022).", ("2D Mater", 2022, "9", "045036")),
        ("J. Phys.: Condens. Matter 10 (1998) 123", ("J. Phys.: Condens. Matter", 1998, "10", "123")),
        ("J. Chem. Soc., Perkin Trans. 1 1998, 12, 123", ("J. Chem. Soc., Perkin Trans. 1", 1998, "12", "123")),
        ("Ann. Phys. XVII, 549 (1905)", ("Ann. Phys", 1905, "XVII", "549")),
        ("Phys. Rev. D58 (1998) 1234", ("Phys. Rev D", 1998, "58", "1234")),
        ("Phys. Lett. 123B, 45 (1983)", ("Phys. Lett B", 1983, "123", "45")),
        ("Phys. Rev. D 103 (2021) no.9, 096008 [ [hep-th]].", ("Phys. Rev. D", 2021, "103", "096008")),
        ("Haematologica. 2001;12:123-e4", ("Haematologica", 2001, "12", "123")),
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
        "Proc. Biol.: an introduction 10 (1998) 123",
        "Fungi and food spoilage: a new handbook. Springer; 2009",
    ],
)
def test_other_texts_are_not_citations_without_title(text: str):
    assert read(text) is None


@pytest.mark.parametrize(
    ("text", "names", "fields"),
    [
        ("Smith J., Jones K., Angew. Chem. Int. Ed. 2004, 43, 1", "Smith Jones", ("Angew. Chem. Int. Ed", 2004, "43", "1")),
        ("A. Smith, B. Jones, Phys. Rev. B 58 (1998) 1234", "Smith Jones", ("Phys. Rev. B", 1998, "58", "1234")),
        ("b) Smith, J.; Jones, K. J. Am. Chem. Soc. 2004, 126, 1;", "Smith Jones", ("J. Am. Chem. Soc", 2004, "126", "1")),
        ("B. Jones, J. Phys. Chem. 58 (1998) 1234", "Jones", ("J. Phys. Chem", 1998, "58", "1234")),
        ("Smith J., Jones K., Plant J. 2004, 43, 1", "Smith Jones", ("Plant J", 2004, "43", "1")),
        ("Li K, Wu JA. Br J Haematol 2001;12:123-e4", "Li Wu", ("Br J Haematol", 2001, "12", "123")),
        ("Smith et al. Nature 2009; 1:2", "Smith", ("Nature", 2009, "1", "2")),
        ("J. Smith et al. [A Group], Nature 1 (2009), 2-3", "Smith", ("Nature", 2009, "1", "2")),
        ("Smith J, Jones K (1998) J Chem Phys 58:1234", "Smith Jones", ("J Chem Phys", 1998, "58", "1234")),
        ("Puvvula PK. Int J Mol Sci. 2019;20(11):2615", "Puvvula", ("Int J Mol Sci", 2019, "20", "2615")),
        ("Engel, M. S. Nature 584, 525 (2020).", "Engel", ("Nature", 2020, "584", "525")),
        ("Smith J, 1998, Philos. Trans. R. Soc. A, 58, 12", "Smith", ("Philos. Trans. R. Soc. A", 1998, "58", "12")),
        ("Łoś J., Świątek K., Neurosci. Lett. 2004, 43, 1", "Łoś Świątek", ("Neurosci. Lett", 2004, "43", "1")),
        ("de Wit, J., O'Neil, H. R., & Lee-Li, S. 2018, Icarus, 2, 214,", "de_Wit O'Neil Lee-Li", ("Icarus", 2018, "2", "214")),
        ("J.-L. Brédas and A. H. Castro Neto, Nat. Commun. 5, 4543 (2014).", "Brédas Castro_Neto",
         ("Nat. Commun", 2014, "5", "4543")),
    ],
)  # fmt: skip
def test_the_fields_of_a_citation_with_authors_and_without_title(text: str, names: str, fields: tuple[str, int, str, str]):
    last_names = tuple(name.replace("_", " ") for name in names.split())
    assert read(text) is None
    assert read_authored(text) == Untitled(*fields, last_names)
    reference = Reference(id="r", citing="c", position=1, raw_text=text)
    assert {key.partition(":")[0] for key in reference_places(reference)} == {"a", "y"}


@pytest.mark.parametrize(
    "text",
    [
        "Huskisson EC. Measurement of pain. Lancet 1974;2(7889):1127-31.",
        "Sands BE. Fulminant colitis. J Gastrointest Surg. 2008;12:2157-9.",
        "Vitamin D. Lancet 1998;351:805",  # a short title, not an author
        "Factor IX. Blood 1998;51:805",
        "T Cells. Nature 1998;1:2",
        "[3] Influenza A. Lancet 2001;357:1",
        "Deeks A. HIV. Lancet 2001;357:1",  # an author and a title of one word
        "White NJ. Malaria. Lancet 2014;383:724-35",
        "Fischl B (2012) FreeSurfer. Neuroimage 62:774–781",
        "Deisseroth K. Optogenetics. Nat Methods 2011, 8: 26–29.",
        "van Os J, Kapur S (2009) Schizophrenia. Lancet 374(9690):635–645",
        "Smith J, šimek k, Nature 1998;1:2",  # a small letter begins no name
        "Smith J., Jones K., Nature 2004, 43, 1" + " " * 1000,
        "Smith J. On the shapes of the things that are to come. Nature 2009;1:2",
        "Felsenstein J. 1985;39:783-91",
        "Neuroimage. 2009 Jun;46(2):516-21",
        "Smith J, Jones K. 2004",
    ],
)
def test_other_texts_are_not_citations_with_authors_and_without_title(text: str):
    assert read_authored(text) is None


@pytest.mark.parametrize("text", ["a-" * 500_000, "Smith J, " * 100_000, "Li J. " + "a-" * 490 + "2009"])
def test_a_long_text_is_refused_fast(text: str):
    assert read_authored(text) is None


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from("a A. Li J. 2009 ; : ( ) 12 , - Suppl pp and".split()), max_size=80).map(" ".join)
)
def test_any_text_is_read(text: str):
    found = read(text) or read_authored(text)
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
    assert fields_of(reference.model_copy(update=fields)) == (None if found is None else Untitled(*found))


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
