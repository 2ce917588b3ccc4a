"""RIS and MEDLINE text (``.nbib``): a bibliography as reference managers and databases export it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import ClassVar, Final

from reflink.bibliography.citation import Citation
from reflink.errors import BadRecord, TooLarge
from reflink.formats.content import Content
from reflink.formats.format import Format, Options, Parsed
from reflink.formats.records import Person, bibliography, cited
from reflink.names import divided, is_group
from reflink.sources import ris, values

#: The first line of a record, of RIS its type, of MEDLINE text its PMID or owner, and another tag in the line behind it.
_START: Final = re.compile(
    r"(?m)^\ufeff?(?:TY {0,3}- {0,3}[A-Za-z][^\r\n]{0,40}|PMID- ?\d{1,8}|OWN {0,2}- ?[A-Z]{2,8})[ \t]{0,20}\r?\n"
    r"(?:[A-Z][A-Z0-9]{1,3}) {0,3}-"
)
_AUTHORS: Final = ("AU", "A1")
_EDITORS: Final = ("ED", "A2")
#: Maximum number of addresses of a record.
_MAX_MANY: Final = 100
#: Tags of the authors of MEDLINE text, the full names first.
_MEDLINE: Final = ("FAU", "AU")


class Ris(Format):
    """RIS: one paper without text, whose references are the records."""

    name: ClassVar[str] = "ris"
    about: ClassVar[str] = "RIS and MEDLINE text (.nbib), a bibliography of a reference manager"
    endings: ClassVar[tuple[str, ...]] = (".ris", ".nbib")

    def recognises(self, content: Content) -> bool:
        """Return whether a line of the text begins a record."""
        return content.root is None and content.text is not None and _START.search(content.text) is not None

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the bibliography."""
        if len(content.data) > options.limits.size:
            raise TooLarge(f"{content.name}: {len(content.data)} bytes of RIS, the limit is {options.limits.size}")
        return bibliography(content, _records(content), options)


def _records(content: Content) -> Iterator[tuple[str, Citation | None]]:
    for _, fields in ris.fielded(io.BytesIO(content.data), content.name):
        if not isinstance(fields, BadRecord):
            yield _cited(fields)


def _cited(fields: ris.Fields) -> tuple[str, Citation | None]:
    work, own = ris.work_fields(fields)
    medline = "TY" not in fields and "PMID" in fields
    tags = _MEDLINE if medline else _AUTHORS
    authors = next((fields[tag] for tag in tags if tag in fields), [])
    groups = [(name, "", True) for name in values.texts(fields.get("CN"))] if medline else []
    editors = next((fields[tag] for tag in (("FED", "ED") if medline else _EDITORS) if tag in fields), [])
    kinds = fields.get("PT" if medline else "TY", [None])
    publisher = next(iter(fields.get("PB", ())), None)
    found = cited(
        work, [*_people(authors), *groups], kind=values.short(kinds[0]), editors=(last for last, _, _ in _people(editors)),
        publisher=values.short(publisher), addresses=fields.get("UR", ())[:_MAX_MANY],
    )  # fmt: skip
    return own or next(iter(fields.get("PMID", ())), ""), found


def _people(names: list[str]) -> Iterator[Person]:
    for each in names[: values.MAX_MANY]:
        if (name := values.short(each)) is None:
            continue
        if is_group(name):
            yield name, "", True
        elif (person := divided(name))[0]:
            yield *person, False
