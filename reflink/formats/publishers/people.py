"""Names of persons and groups in publishers' XML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from lxml import etree

from reflink.formats.publishers.markup import Paths, elements, text_of
from reflink.formats.records import Person
from reflink.names import divided, is_group

_LAST: Final = frozenset(("surname", "FamilyName", "familyName", "snm", "second-name", "bilname", "last-name"))
_GIVEN: Final = frozenset(
    ("given-name", "given-names", "GivenName", "Initials", "givenNames", "fnm", "fnms", "first-names", "fname", "bifname",
     "forenames", "first-name")
)  # fmt: skip
_PARTICLES: Final = frozenset(("Particle", "familyNamePrefix"))
#: Maximum number of authors.
_MAX_MANY: Final = 10_000
_AND: Final = re.compile(r"\s*(?:[,;]\s*(?:and|&)\s|[,;]|\s(?:and|&)\s)\s*")
_ET_AL: Final = re.compile(r"(?i)[\s,]{0,5}\bet\.? ?al\.?$")
#: Maximum number of characters of a list of authors that is divided.
_MAX_LIST: Final = 5_000
_INITIALS: Final = re.compile(r"(?:[A-Z]\.?[-\s]?){1,4}")


def people(element: etree._Element, paths: Mapping[str, Paths]) -> Iterator[Person]:
    """Yield the persons at the paths of ``authors``, and the groups at those of ``groups``."""
    for path in paths.get("authors", ()):
        found = elements(element, path)[:_MAX_MANY]
        yield from (person for each in found if (person := _person(each)))
        if found:
            break
    for path in paths.get("groups", ()):
        for each in elements(element, path)[:_MAX_MANY]:
            if name := text_of(each).strip(" ,;."):
                yield name, "", True


def _person(element: etree._Element) -> Person | None:
    last = given = particle = ""
    for part in element.iter():
        if part.tag in _LAST:
            last = last or text_of(part)
        elif part.tag in _GIVEN:
            given = f"{given} {text_of(part)}".strip()
        elif part.tag in _PARTICLES:
            particle = particle or text_of(part)
    if last:
        return (f"{particle} {last}" if particle else last), given, False
    whole = given or text_of(element).strip(" ,;")
    if not whole or (given and _INITIALS.fullmatch(given)):
        return None
    if is_group(whole):
        return whole, "", True
    last, given = divided(whole)
    return (last, given, False) if last else None


def listed(text: str) -> Iterator[Person]:
    """Yield the persons of a list in one text, "Orosz J. A., Welsh W. F. et al"; none if a part of it is not a name."""
    parts = [part for part in _AND.split(_ET_AL.sub("", text[:_MAX_LIST])) if part]
    found = [divided(part) for part in parts]
    if all(
        given and not _INITIALS.fullmatch(last) and len(part.split()) <= 5
        for part, (last, given) in zip(parts, found, strict=True)
    ):
        yield from ((last, given, False) for last, given in found)
