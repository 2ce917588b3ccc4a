"""Tests of authors, editors and others, and of names that the markup does not split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.jats.people import named, split
from reflink.jats.scanner.vocabulary import AUTHORS, EDITORS, OTHERS
from tests.reflink.jats.articles import assert_fields, cited


@pytest.mark.parametrize(
    ("name", "last", "given"),
    [
        ("Wang, X. Y.", "Wang", "X. Y."), ("Wang, Xiao", "Wang", "Xiao"), ("Wang XY", "Wang", "XY"), ("Wang X", "Wang", "X"),
        ("Wang X.Y.", "Wang", "X.Y."), ("J.-P. Sartre", "Sartre", "J.-P."), ("de la Cruz J.", "de la Cruz", "J."),
        ("J. de la Cruz", "de la Cruz", "J."), ("Xiao Wang", "Wang", "Xiao"), ("Mary Ann Evans", "Evans", "Mary Ann"),
        ("WHO", "WHO", ""), ("X Y", "X Y", ""), ("Plato", "Plato", ""), ("Smith, J., Jr.", "Smith", "J., Jr."), ("", "", ""),
        ("van der Berg, A", "van der Berg", "A"), ("Øst Å", "Å", "Øst"),
    ],
)  # fmt: skip
def test_split(name: str, last: str, given: str) -> None:
    assert split(name) == (last, given)


@given(st.text().map(lambda text: " ".join(text.split())))
def test_splitting_loses_no_letters(name: str) -> None:
    last, given = split(name)
    assert sorted(filter(str.isalnum, last + given)) == sorted(filter(str.isalnum, name))
    assert last.strip() or not any(map(str.isalnum, name))


@pytest.mark.parametrize(
    ("people", "expected"),
    [
        ([(AUTHORS, 0, "A", "X"), (EDITORS, 1, "E, Y", ""), (OTHERS, 0, "O", "Z"), (AUTHORS, 1, "Xiao Wang", "")],
         {"last_names": ("A", "Wang"), "given_names": ("X", "Xiao"), "editors": ("E",)}),
        ([(AUTHORS, 0, "A", "")], {"last_names": ("A",)}),
        ([(OTHERS, 0, "O", "X")], {}),
    ],
)  # fmt: skip
def test_named(people: list[tuple[int, int, str, str]], expected: dict[str, tuple[str, ...]]) -> None:
    assert {name: tuple(values) for name, values in named(people).items()} == expected


def group(kind: str, *names: str) -> str:
    """Return a ``<person-group>`` of these last names."""
    people = "".join(f"<name><surname>{name}</surname><given-names>{name[0]}</given-names></name>" for name in names)
    return f'<person-group person-group-type="{kind}">{people}</person-group>' if kind else people


AUTHOR_TYPES = ("author", "authors", "Author", "allauthors", "all-authors", "inventor", "")
EDITOR_TYPES = ("editor", "editors", "EDITOR", "guest-editor", "series-editor", "ed", "eds")
OTHER_TYPES = ("translator", "compiler", "director", "assignee", "doi", "x y")


@pytest.mark.parametrize("kind", [*AUTHOR_TYPES, *EDITOR_TYPES, *OTHER_TYPES])
def test_types_of_groups(kind: str) -> None:
    ref = cited(group(kind, "Wang", "Feng"))
    names, given = ("Wang", "Feng"), ("W", "F")
    if kind in AUTHOR_TYPES:
        assert_fields(ref, last_names=names, given_names=given, editors=())
    else:
        assert_fields(ref, last_names=(), given_names=(), editors=names if kind in EDITOR_TYPES else ())


UNSPLIT = '<person-group person-group-type="{}"><string-name>Li X</string-name></person-group>'


@pytest.mark.parametrize(
    ("markup", "last", "given", "editors"),
    [
        (group("editor", "Ed") + group("translator", "Tr") + group("author", "Au") + group("", "Out"),
         ("Au", "Out"), ("A", "O"), ("Ed",)),
        (UNSPLIT.format("editor") + group("", "Au"), ("Au",), ("A",), ("Li",)),
        *((UNSPLIT.format(kind), (), (), ()) for kind in OTHER_TYPES),
        ("<name><surname>A</surname></name><name><given-names>X.</given-names> <surname>B</surname></name><surname>C</surname>"
         "<given-names>Y.</given-names><string-name><given-names>Z</given-names><surname>D</surname></string-name>",
         ("A", "B", "C", "D"), ("", "X.", "Y.", "Z"), ()),
        ("<surname>A</surname><surname>B</surname>", ("A", "B"), (), ()),
        ("<string-name>de la Cruz J.</string-name> <string-name>WHO</string-name>", ("de la Cruz", "WHO"), ("J.", ""), ()),
    ],
)  # fmt: skip
def test_names(markup: str, last: tuple[str, ...], given: tuple[str, ...], editors: tuple[str, ...]) -> None:
    assert_fields(cited(markup), last_names=last, given_names=given, editors=editors)
