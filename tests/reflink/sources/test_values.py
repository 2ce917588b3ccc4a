import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.identifiers import normalise_doi
from reflink.sources import values
from reflink.sources.markup import MAX_TEXT, plain
from reflink.sources.pages import first_and_last
from reflink.sources.types import CITED, UNCITED, datacite_type, work_type
from tests.profiles import examples
from tests.reflink.sources.strategies import VALUES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A  plain\n title", "A plain title"),
        ("<i>In vitro</i> and CO<sub>2</sub>", "In vitro and CO2"),
        ("&lt;i&gt;E. coli&lt;/i&gt; &amp;amp; others", "E. coli & others"),
        ("&amp;lt;b&amp;gt;x&amp;lt;/b&amp;gt;", "x"),
        ("p < 0.05 and q > 3; <LOD>", "p < 0.05 and q > 3; <LOD>"),
        ('<jats:title xml:lang="en">One</jats:title><jats:p>Two</jats:p>', "One Two"),
        ("<mml:math><mml:mi>x</mml:mi></mml:math>", "x"),
        ("Sum <tex-math>$$\\sum$$</tex-math> of x", "Sum of x"),
        ("AT&T; R&D &unknown; &#xD800;", "AT&T; R&D &unknown; \ufffd"),
        ("Clams (\n <i>Tridacna maxima</i>\n ), large", "Clams (Tridacna maxima), large"),
        ("caf&#233;", "café"),
    ],
)
def test_markup_is_removed(text, expected):
    assert plain(text) == expected


@settings(max_examples=examples(300))
@given(st.text("<>/&;#ibsupltgamp x\n\u00e9", max_size=200) | st.text(max_size=50))
def test_plain_text_has_single_spaces_and_stays_plain_without_markup(text):
    found = plain(text)
    assert found == " ".join(found.split())
    if not set("<&") & set(text):
        assert found == " ".join(text.split())


@pytest.mark.parametrize("part", ["<tex-math>", "<i", "&amp;", "<!--", "<a " + "b " * 50, "<" * 100])
def test_hostile_markup_takes_bounded_time(part):
    assert len(plain(part * 10_000_000)) <= MAX_TEXT


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("261-272", ("261", "272")), ("1013-9", ("1013", "1019")), ("e22081", ("e22081", None)), ("S3-S9", ("S3", "S9")),
        ("pp. 12–19", ("12", "19")), ("p 5", ("5", None)), ("1--9", ("1", "9")), ("12-15, 20", ("12", "15")),
        ("S-3", ("S-3", None)), ("xii-xv", ("xii", "xv")), ("", (None, None)), ("-", ("-", None)),
    ],
)  # fmt: skip
def test_pages_are_divided(text, pages):
    assert first_and_last(text) == pages


@given(st.text(max_size=60))
def test_a_last_page_needs_a_first_page(text):
    first, last = first_and_last(text)
    assert first is not None or last is None


@settings(max_examples=examples(300))
@given(VALUES)
def test_values_of_any_type_are_read_or_missing(value):
    assert values.text(value) is None or values.text(value)
    assert values.year(value) is None or 1000 <= values.year(value) <= 2100
    assert values.version(value) is None or 0 <= values.version(value) < 2**63
    assert values.milliseconds(value) is None or values.milliseconds(value) >= 0
    assert all(type(each) is str for each in values.texts(value))
    assert all(type(each) is dict for each in values.mappings(value))
    assert type(values.mapping(value)) is dict
    values.ids(value, value, value, value)
    values.issns(value)


@given(st.from_regex(r"10\.[0-9]{4}/[a-z0-9.()*;-]{1,20}", fullmatch=True))
def test_a_plain_doi_is_its_own_key(doi):
    assert values.doi_key(doi) == doi == values.doi_key(f" https://doi.org/{doi.upper()} ".strip())


def test_other_forms_of_a_doi_are_normalised():
    assert values.doi_key("doi:10.5555/A") == normalise_doi("doi:10.5555/A") == "10.5555/a"
    assert values.doi_key("none") is None


def test_keys_of_a_library_have_no_space_and_depend_on_the_fields():
    assert values.key("a b\x00", "T") == values.key("a b\x00", "T") != values.key("a b\x00", "U")
    assert values.key("a b\x00", "T").startswith("a_b_~")
    assert values.key("", "T")


@pytest.mark.parametrize("source", ["crossref", "openalex", "s2", "csl", "bibtex", "ris"])
def test_every_word_has_a_type_of_the_vocabulary(source):
    for word in ("article", "journal-article", "JOUR", "Conference", "thesis", "unheard of", "book"):
        assert work_type(source, word) in CITED | UNCITED
    assert work_type(source, None) is None
    assert not CITED & UNCITED


@given(VALUES, VALUES, VALUES)
def test_the_type_of_a_datacite_record_is_of_the_vocabulary(general, own, ris):
    assert datacite_type(general, own, ris) in CITED | UNCITED | {None}
