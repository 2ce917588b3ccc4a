"""CSL-JSON: a bibliography as reference managers export it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

from reflink.bibliography.citation import Citation
from reflink.errors import NotAPaper, TooLarge
from reflink.formats.content import Content
from reflink.formats.format import Format, Options, Parsed
from reflink.formats.records import Person, bibliography, cited
from reflink.names import divided
from reflink.sources import csl, values

#: Types of items, of CSL 1.0 and 1.0.2.
_TYPES: Final = frozenset(
    """article article-journal article-magazine article-newspaper bill book broadcast chapter classic collection dataset
    document entry entry-dictionary entry-encyclopedia event figure graphic hearing interview legal_case legislation manuscript
    map motion_picture musical_score pamphlet paper-conference patent performance periodical personal_communication post
    post-weblog regulation report review review-book software song speech standard thesis treaty webpage""".split()
)
#: Keys of which an item has one at least, and keys that an item never has, of Crossref works and S2ORC.
_ANY: Final = frozenset(("title", "author", "issued", "DOI", "container-title"))
_NEVER: Final = frozenset(("reference", "reference-count", "bib_entries", "paper_id", "paperId", "pdf_parse"))
#: Keys of a person, and keys with texts that only citations have, of which an item has one: other JSON has titles, too.
_PERSON: Final = frozenset(("family", "given", "literal"))
_CITING: Final = ("DOI", "container-title", "ISBN", "PMID")
#: Number of items that recognition looks at.
_FIRST: Final = 100


class Csl(Format):
    """CSL-JSON: one paper without text, whose references are the items."""

    name: ClassVar[str] = "csl"
    about: ClassVar[str] = "CSL-JSON, a bibliography of a reference manager"
    endings: ClassVar[tuple[str, ...]] = (".json",)

    def recognises(self, content: Content) -> bool:
        """Return whether the JSON is an item or a list of items, each with a type of CSL, or an id, and a title in one text."""
        found = _items(content.json)
        return bool(found) and all(map(_is_item, found[:_FIRST]))

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the bibliography."""
        if len(content.data) > options.limits.size:
            raise TooLarge(f"{content.name}: {len(content.data)} bytes of JSON, the limit is {options.limits.size}")
        if content.json is None:
            raise NotAPaper(f"{content.name}: not JSON")
        items = _items(content.json)
        return bibliography(content, (_cited(item) for item in items if type(item) is dict), options)


def _items(value: Any) -> list[Any]:
    """Return the items of a list, of a document with ``items``, or the one item. A list is not shortened."""
    if type(value) is dict and type(value.get("items")) is list and "type" not in value:
        value = value["items"]
    return value if type(value) is list else [value]


def _is_item(value: Any) -> bool:
    if type(value) is not dict or _ANY.isdisjoint(value) or not _NEVER.isdisjoint(value):
        return False
    if type(value.get("title", "")) is not str or type(value.get("author", [])) is not list:
        return False
    kind = value.get("type")
    if not (type(kind) is str and kind in _TYPES) and not ("issued" in value and ("id" in value or type(kind) is str)):
        return False
    people = value.get("author") or []
    named = any(type(each) is dict and not _PERSON.isdisjoint(each) for each in people)
    return named or type(value.get("issued")) is dict or any(type(value.get(key)) is str for key in _CITING)


def _cited(item: dict[str, Any]) -> tuple[str, Citation | None]:
    own = item.get("id")
    editors = (last for last, _, _ in _people(item.get("editor")))
    kind, publisher = values.short(item.get("type")), values.short(item.get("publisher"))
    addresses = [item["URL"]] if type(item.get("URL")) is str else []
    people = _people(item.get("author"))
    found = cited(csl.fields(item), people, kind=kind, editors=editors, publisher=publisher, addresses=addresses)
    return str(own) if type(own) in (str, int) else "", found


def _people(people: Any) -> Iterator[Person]:
    for person in values.mappings(people):
        last, given = values.short(person.get("family")), values.short(person.get("given"))
        if last is not None:
            particle = values.short(person.get("non-dropping-particle"))
            yield f"{particle} {last}" if particle else last, given or "", False
        elif (group := values.short(person.get("literal"))) is not None:
            yield group, "", True
        elif given is not None:
            yield *divided(given), False
