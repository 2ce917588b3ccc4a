"""RIS and MEDLINE text (``.nbib``): exports of reference managers and databases, read line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar, Final

from reflink.entities import Ids, Work
from reflink.errors import BadRecord
from reflink.identifiers import extract
from reflink.sources import values
from reflink.sources.files import COMPRESSED, MAX_RECORD, found, lines
from reflink.sources.json_source import is_archive
from reflink.sources.markup import MAX_TEXT
from reflink.sources.members import read_members
from reflink.sources.pages import first_and_last
from reflink.sources.source import Source, SourceFile, SourceRecord
from reflink.sources.types import BOOKS, UNCITED, work_type
from reflink.workids import work_id

_TAG: Final = re.compile(r"([A-Z][A-Z0-9]{1,3}) {0,3}-(?: (.*)|\s*$)")
_ENDINGS: Final = (".ris", ".nbib")
_MAX_LINE: Final = 1 << 20
#: Tags that MEDLINE text has and RIS does not: PubMed's and ERIC's records.
_MEDLINE: Final = frozenset(("PMID", "OWN"))
_BOM: Final = "\ufeff"
#: Tags of journal, book or series, the full name before short ones; those of an article come before those of a chapter.
_VENUES: Final = ("JF", "JO", "T2", "BT", "JA", "J2", "J1", "T3")
#: Tags that may hold a DOI.
_WITH_DOI: Final = ("DO", "DI", "L3", "M3", "UR", "N1")
_EPUB_DOI: Final = re.compile(r"(\S+)\s+\[doi\]")

Fields = dict[str, list[str]]


class Ris(Source):
    """Records of RIS and MEDLINE text. Key: DOI, PMID, or the record's id with a digest. Version: the time of the file."""

    name: ClassVar[str] = "ris"
    about: ClassVar[str] = "RIS and MEDLINE text (.nbib), as reference managers and databases export them"

    def files(self, paths: Sequence[Path]) -> list[SourceFile]:
        """Return the files that end in .ris or .nbib, and archives. Raises BadDump if a path is missing or has no such file."""
        return found(paths, lambda name: is_ris(name) or is_archive(name), self.name)

    def read(self, file: SourceFile) -> Iterator[SourceRecord | BadRecord]:
        """Yield the records of a file in order; see `reflink.sources.source.Source.read`."""

        def read(content: IO[bytes], name: str) -> Iterator[SourceRecord | BadRecord]:
            for number, fields in fielded(content, name):
                try:
                    yield fields if isinstance(fields, BadRecord) else record(fields, file.version)
                except BadRecord as error:
                    yield BadRecord(f"{name}:{number}: {error}")

        return read_members(file, is_ris, read)


def is_ris(name: str) -> bool:
    """Whether a file's name is that of a RIS or MEDLINE file, plain or compressed."""
    lower = name.lower()
    for ending in COMPRESSED:
        lower = lower.removesuffix(ending)
    return lower.endswith(_ENDINGS)


def fielded(content: IO[bytes], name: str) -> Iterator[tuple[int, Fields | BadRecord]]:
    """Yield the line and the values by tag of each record, and a BadRecord for a record that is too long, or without records.

    A record begins with TY and ends with ER or the next TY; one of MEDLINE text ends with an empty line. A line without a tag
    continues the one before.
    """
    fields: Fields = {}
    start, size, last, count = 1, 0, "", 0
    number = 0
    for line in lines(content, name, _MAX_LINE):
        previous, (number, data) = number, (number + 1, b"") if isinstance(line, BadRecord) else line
        if isinstance(line, BadRecord):
            yield number, line
            continue
        text = values.decoded(data).removeprefix(_BOM).rstrip()
        tagged = _TAG.match(text)
        tag = tagged[1] if tagged else ""
        ended = (
            tag == "TY"
            or (number > previous + 1 and not fields.keys().isdisjoint(_MEDLINE))
            or (tag == "PMID" and "PMID" in fields)
        )
        if (ended or tag == "ER") and fields:
            yield start, fields
            fields, size, last = {}, 0, ""
            count += 1
        if tag == "ER" or (not tag and not last):
            continue
        size += len(data)
        if size > MAX_RECORD:
            yield number, BadRecord(f"{name}:{start}: longer than {MAX_RECORD} bytes")
            fields, size, last = {}, 0, ""
            continue
        if tagged:
            start = start if fields else number
            fields.setdefault(tag, []).append((tagged[2] or "").strip())
            last = tag
        elif len(fields[last][-1]) < MAX_TEXT:
            fields[last][-1] += f" {text.strip()}"
    if fields:
        yield start, fields
    elif not count:
        yield number, BadRecord(f"{name}: no record")


def record(fields: Fields, version: int = 0) -> SourceRecord:
    """Return the state of a record from its values by tag. Raises BadRecord if it has neither identifier nor title."""
    work, own = work_fields(fields)
    key = work["ids"].doi or (f"pmid:{work['ids'].pmid}" if work["ids"].pmid else None)
    if key is None:
        if work["title"] is None:
            raise BadRecord("neither an identifier nor a title")
        key = values.key(own, work["title"], work["authors"], work["year"])
    if work["type"] in UNCITED:
        return SourceRecord(key, version, None)
    return SourceRecord(key, version, Work.made({"id": work_id(work["ids"], f"ris:{key}"), **work}))


def work_fields(fields: Fields) -> tuple[dict[str, Any], str]:
    """Return the fields of `reflink.entities.Work` that a record states, without ``id``, and the record's own name."""
    if "TY" not in fields and ("PMID" in fields or "JT" in fields):
        return _medline(fields)
    return _ris(fields)


def _ris(fields: Fields) -> tuple[dict[str, Any], str]:
    kind = work_type("ris", _first(fields, "TY"))
    names = fields.get("AU") or fields.get("A1") or (fields.get("A2") or fields.get("ED") if kind in BOOKS else None) or []
    people, groups = values.people((None, values.short(name)) for name in names)
    title = _first(fields, "TI", "T1") or (_first(fields, "BT") if kind in BOOKS else None)
    venues = [venue for tag in _VENUES for each in fields.get(tag, ()) if (venue := values.text(each)) and venue != title]
    venues = list(dict.fromkeys(venues))
    start, end = _first(fields, "SP"), _first(fields, "EP")
    first, last = first_and_last(f"{start}–{end}" if start and end and start.isdigit() else start or "")
    language = _first(fields, "LA")
    doi = next(
        (doi for tag in _WITH_DOI for each in fields.get(tag, ()) if (doi := extract(each[: values.MAX_SHORT]).doi)), None
    )
    return {
        "ids": values.ids(doi, pmcid=next((each for each in fields.get("C2", ()) if each[:3] == "PMC"), None)),
        "title": title,
        "translated_titles": tuple(each for each in values.texts(fields.get("TT")) if each != title),
        "authors": people,
        "collectives": groups,
        "venue": venues[0] if venues else None,
        "venue_abbreviations": tuple(venues[1:]),
        "issns": values.issns([word for each in fields.get("SN", ()) for word in each[: values.MAX_SHORT].split()]),
        "year": values.year(_first(fields, "PY", "Y1", "DA")),
        "volume": values.short(_first(fields, "VL")),
        "issue": values.short(_first(fields, "IS", "CP")),
        "fpage": first or values.short(_first(fields, "C7")),
        "lpage": last,
        "type": kind,
        "language": values.language(language),
    }, _first(fields, "ID", "AN") or ""  # fmt: skip


def _medline(fields: Fields) -> tuple[dict[str, Any], str]:
    names = fields.get("FAU") or fields.get("AU") or []
    people, _ = values.people((None, values.short(name)) for name in names)
    groups = tuple(values.texts(fields.get("CN")))
    first, last = first_and_last(_first(fields, "PG") or "")
    dois = (found[1] for tag in ("LID", "AID") for each in fields.get(tag, ()) if (found := _EPUB_DOI.match(each)))
    year, online = values.year(_first(fields, "DP")), values.year((_first(fields, "DEP") or "")[:4])
    language = _first(fields, "LA")
    return {
        "ids": _medline_ids(fields, next(dois, None)),
        "title": _first(fields, "TI", "BTI"),
        "translated_titles": tuple(values.texts(fields.get("TT"))),
        "authors": (*people, *groups),
        "collectives": groups,
        "venue": _first(fields, "JT"),
        "venue_abbreviations": tuple(values.texts(fields.get("TA"))),
        "issns": values.issns([*fields.get("IS", ()), *fields.get("ISSN", ())]),
        "year": year,
        "online_year": online if online != year else None,
        "volume": values.short(_first(fields, "VI")),
        "issue": values.short(_first(fields, "IP")),
        "fpage": first,
        "lpage": last,
        "type": "book" if "BTI" in fields else "journal-article",
        "language": values.language(language),
        "status": "retracted" if "Retracted Publication" in fields.get("PT", ()) else None,
    }, _first(fields, "OID") or ""  # fmt: skip


def _medline_ids(fields: Fields, doi: str | None) -> Ids:
    return values.ids(doi, _first(fields, "PMID"), _first(fields, "PMC"))


def _first(fields: Fields, *tags: str) -> str | None:
    """Return the first value with text of the first of these tags."""
    return next((text for tag in tags for each in fields.get(tag, ()) if (text := values.text(each))), None)
