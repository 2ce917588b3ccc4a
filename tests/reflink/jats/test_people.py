"""Authors, editors and others, and names that the markup does not split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.jats.people import named, split
from reflink.jats.scanner.vocabulary import AUTHORS, EDITORS, OTHERS
from tests.reflink.jats.articles import cited


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


def test_named() -> None:
    people = [(AUTHORS, 0, "A", "X"), (EDITORS, 1, "E, Y", ""), (OTHERS, 0, "O", "Z"), (AUTHORS, 1, "Xiao Wang", "")]
    said = {name: tuple(values) for name, values in named(people).items()}
    assert said == {"last_names": ("A", "Wang"), "given_names": ("X", "Xiao"), "editors": ("E",)}


def test_no_given_names_are_absent() -> None:
    assert {name: tuple(values) for name, values in named([(AUTHORS, 0, "A", "")]).items()} == {"last_names": ("A",)}
    assert named([(OTHERS, 0, "O", "X")]) == {}


def group(kind: str, *names: str) -> str:
    """A ``<person-group>`` of these last names."""
    people = "".join(f"<name><surname>{name}</surname><given-names>{name[0]}</given-names></name>" for name in names)
    return f'<person-group person-group-type="{kind}">{people}</person-group>' if kind else people


@pytest.mark.parametrize("kind", ["author", "authors", "Author", "allauthors", "all-authors", "inventor", ""])
def test_authors(kind: str) -> None:
    ref = cited(group(kind, "Wang", "Feng"))
    assert (ref.last_names, ref.given_names, ref.editors) == (("Wang", "Feng"), ("W", "F"), ())


@pytest.mark.parametrize("kind", ["editor", "editors", "EDITOR", "guest-editor", "series-editor", "ed", "eds"])
def test_editors(kind: str) -> None:
    ref = cited(group(kind, "Wang", "Feng"))
    assert (ref.last_names, ref.given_names, ref.editors) == ((), (), ("Wang", "Feng"))


@pytest.mark.parametrize("kind", ["translator", "compiler", "director", "assignee", "doi", "x y"])
def test_others_are_neither(kind: str) -> None:
    ref = cited(
        group(kind, "Wang") + f'<person-group person-group-type="{kind}"><string-name>Li X</string-name></person-group>'
    )
    assert (ref.last_names, ref.given_names, ref.editors) == ((), (), ())


def test_groups_in_any_order_and_names_outside_any() -> None:
    ref = cited(group("editor", "Ed") + group("translator", "Tr") + group("author", "Au") + group("", "Out"))
    assert (ref.last_names, ref.given_names, ref.editors) == (("Au", "Out"), ("A", "O"), ("Ed",))
    mixed = cited('<person-group person-group-type="editor"><string-name>Li X</string-name></person-group>' + group("", "Au"))
    assert (mixed.last_names, mixed.given_names, mixed.editors) == (("Au",), ("A",), ("Li",))


def test_given_names_stand_beside_last_names() -> None:
    ref = cited(
        "<name><surname>A</surname></name><name><given-names>X.</given-names> <surname>B</surname></name><surname>C</surname>"
        "<given-names>Y.</given-names><string-name><given-names>Z</given-names><surname>D</surname></string-name>"
    )
    assert (ref.last_names, ref.given_names) == (("A", "B", "C", "D"), ("", "X.", "Y.", "Z"))
    assert cited("<surname>A</surname><surname>B</surname>").given_names == ()


def test_names_in_one_string() -> None:
    ref = cited("<string-name>de la Cruz J.</string-name> <string-name>WHO</string-name>")
    assert (ref.last_names, ref.given_names) == (("de la Cruz", "WHO"), ("J.", ""))
