"""Read authors and editors: persons with parts of names, persons in one piece, groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lxml import etree

from reflink.formats.records import Person
from reflink.formats.tei.names import name_of, tags, text_of
from reflink.names import divided, is_group

_PERSONS: Final = tags("persName")
_WHOLE: Final = tags("name")
_GROUPS: Final = tags("orgName")
#: Maximum length of a name, in characters.
_MAX: Final = 300


def people(element: etree._Element) -> Iterator[Person]:
    """Yield the persons or the group that one ``author`` or ``editor`` names.

    An author with a ``persName`` is a person, whatever its affiliation; without one, its ``orgName`` is a group.
    """
    found = False
    for child in element.iterchildren(*_PERSONS):
        if (person := _person(child))[0]:
            found = True
            yield person
    if found:
        return
    group = next(element.iterchildren(*_GROUPS), None)
    if group is not None and (name := text_of(group)[:_MAX]):
        yield name, "", True
        return
    whole = next(element.iterchildren(*_WHOLE), None)
    person = _person(element if whole is None else whole)
    if person[0]:
        yield person


def _person(element: etree._Element) -> Person:
    """Return last name and given names of the parts of a name, or of its text."""
    last = particle = ""
    given: list[str] = []
    for part in element:
        name = name_of(part)
        if name == "surname":
            last = last or text_of(part)
        elif name == "forename":
            given.append(text_of(part))
        elif name == "nameLink":
            particle = text_of(part)
    if last:
        return f"{particle} {last}"[:_MAX] if particle else last[:_MAX], " ".join(filter(None, given))[:_MAX], False
    if given:
        return *divided(" ".join(filter(None, given))[:_MAX]), False
    # Text of other elements inside, such as an affiliation, is not part of the name.
    text = " ".join((element.text or "").split())[:_MAX]
    return (text, "", True) if is_group(text) else (*divided(text), False)
