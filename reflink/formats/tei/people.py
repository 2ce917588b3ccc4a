"""Read authors and editors: persons with parts of names, persons in one piece, groups."""

from __future__ import annotations

from typing import Final

from lxml import etree

from reflink.formats.records import Person
from reflink.formats.tei.names import NAMES, text_of
from reflink.names import divided, is_group

#: Maximum length of a name, in characters.
_MAX: Final = 300


def people(element: etree._Element) -> list[Person]:
    """Return the persons or the group that one ``author`` or ``editor`` names.

    An author with a ``persName`` is a person, whatever its affiliation; without one, its ``orgName`` is a group.
    """
    found: list[Person] = []
    group = whole = None
    for child in element:
        name = NAMES.get(child.tag)
        if name == "persName":
            if (person := _person(child))[0]:
                found.append(person)
        elif name == "orgName" and group is None:
            group = child
        elif name == "name" and whole is None:
            whole = child
    if found:
        return found
    if group is not None and (text := text_of(group)[:_MAX]):
        return [(text, "", True)]
    person = _person(element if whole is None else whole)
    return [person] if person[0] else []


def _person(element: etree._Element) -> Person:
    """Return last name and given names of the parts of a name, or of its text."""
    last = particle = given = ""
    for part in element:
        name = NAMES.get(part.tag)
        if name == "surname":
            last = last or text_of(part)
        elif name == "forename":
            given = f"{given} {text_of(part)}" if given else text_of(part)
        elif name == "nameLink":
            particle = text_of(part)
    if last:
        return f"{particle} {last}"[:_MAX] if particle else last[:_MAX], given[:_MAX], False
    # Text of other elements inside, such as an affiliation, is not part of the name.
    text = given[:_MAX] or " ".join((element.text or "").split())[:_MAX]
    return (text, "", True) if is_group(text) and not given else (*divided(text), False)
