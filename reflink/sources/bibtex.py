"""BibTeX and biblatex files, split into entries that pybtex parses one by one."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar, Final

from reflink.entities import Ids, Work
from reflink.errors import BadDump, BadRecord
from reflink.names import divided, is_group
from reflink.sources import values
from reflink.sources.files import COMPRESSED, found, lines
from reflink.sources.json_source import is_archive
from reflink.sources.members import read_members
from reflink.sources.pages import first_and_last
from reflink.sources.source import Source, SourceFile, SourceRecord
from reflink.sources.types import BOOKS, UNCITED, work_type
from reflink.subtitles import joined
from reflink.workids import work_id

_START: Final = re.compile(r"\s*@\s*([A-Za-z]+)\s*[{(]")
#: A citation key with spaces, which BibTeX forbids and Scopus exports.
_SPACED_KEY: Final = re.compile(r"(\s*@\s*[A-Za-z]+\s*[{(]\s*)([^\s,=(){}\"]+(?:[ \t]{1,3}[^\s,=(){}\"]+){1,9})(?=\s*,)")
_NO_ENTRIES: Final = frozenset(("comment", "preamble", "set", "xdata"))
_STRING: Final = "string"
#: Maximum number of characters of an entry and of a field that is decoded, and of macros.
_MAX_ENTRY: Final = 1 << 18
_MAX_FIELD: Final = 20_000
_MAX_MACROS: Final = 3_000
_MAX_LINE: Final = 1 << 20
#: Commands that latexcodec leaves: \emph, \textit.
_COMMAND: Final = re.compile(r"\\[A-Za-z]+\*?\s*")
_AND: Final = re.compile(r"\s+and\s+")
_VENUES: Final = ("journal", "journaltitle", "booktitle", "shortjournal")
_EPRINTS: Final = {"arxiv": "arxiv", "pubmed": "pmid", "pmid": "pmid"}

Fields = dict[str, str]


class Bibtex(Source):
    """Entries of BibTeX files. Key: the DOI, else the citation key with a digest. Version: the time of the file."""

    name: ClassVar[str] = "bibtex"
    about: ClassVar[str] = "BibTeX and biblatex files; needs pip install 'reflink-stream[bibtex]'"

    def files(self, paths: Sequence[Path]) -> list[SourceFile]:
        """Return the files that end in .bib, and archives. Raises BadDump if a path is missing or has no such file."""
        return found(paths, lambda name: is_bibtex(name) or is_archive(name), self.name)

    def read(self, file: SourceFile) -> Iterator[SourceRecord | BadRecord]:
        """Yield the records of a file in order; see `reflink.sources.source.Source.read`. Raises BadDump without pybtex."""

        def read(content: IO[bytes], name: str) -> Iterator[SourceRecord | BadRecord]:
            parser = Parser()
            for number, entry in entries(content):
                try:
                    if parsed := parser.parse(entry):
                        yield record(*parsed, file.version)
                except BadRecord as error:
                    yield BadRecord(f"{name}:{number}: {error}")

        return read_members(file, is_bibtex, read)


def is_bibtex(name: str) -> bool:
    """Whether a file's name is that of a BibTeX file, plain or compressed."""
    lower = name.lower()
    for ending in COMPRESSED:
        lower = lower.removesuffix(ending)
    return lower.endswith(".bib")


def entries(content: IO[bytes]) -> Iterator[tuple[int, str]]:
    """Yield line and text of each entry, from an ``@`` at the beginning of a line up to the next; at most a limit of each."""
    start, size = 0, 0
    parts: list[str] = []
    for line in lines(content, "", _MAX_LINE):
        text = "" if isinstance(line, BadRecord) else values.decoded(line[1])
        if not isinstance(line, BadRecord) and _START.match(text):
            if parts:
                yield start, "".join(parts)
            start, size, parts = line[0], 0, []
        if start and size <= _MAX_ENTRY:
            parts.append(text)
            size += len(text)
    if parts:
        yield start, "".join(parts)


class Parser:
    """Parses entries, and knows the macros that the entries before have defined. Raises BadDump without pybtex."""

    def __init__(self) -> None:
        try:
            import latexcodec
            from pybtex.database.input import bibtex
            from pybtex.errors import capture
        except ImportError:
            raise BadDump("reading BibTeX needs pybtex: pip install 'reflink-stream[bibtex]'") from None
        del latexcodec  # registers the codec "ulatex"
        self._module: Any = bibtex
        self._capture: Any = capture
        self._macros: dict[str, str] = dict(bibtex.month_names)

    def parse(self, text: str) -> tuple[str, str, Fields] | None:
        """Return type, citation key and fields, by lower-case name, of an entry; None for one that is no work.

        Raises BadRecord if it is not an entry.
        """
        kind = _START.match(text)
        if kind is None or kind[1].lower() in _NO_ENTRIES:
            return None
        if len(text) > _MAX_ENTRY:
            raise BadRecord(f"an entry of more than {_MAX_ENTRY} characters")
        parser = self._module.Parser(macros=self._macros, person_fields=(), keyless_entries=False)
        try:
            with self._capture() as faults:
                found = parser.parse_string(_SPACED_KEY.sub(_joined_key, text, count=1)).entries
        except Exception as error:  # pybtex raises errors of many kinds on broken entries
            raise BadRecord(f"not an entry of BibTeX: {error}") from None
        if kind[1].lower() == _STRING:
            if len(self._macros) < _MAX_MACROS:
                known = self._macros
                new = {each: value for each, value in parser.macros.items() if known.get(each) is not value}
                known.update((each, value[:_MAX_FIELD]) for each, value in new.items())
            return None
        for key, entry in found.items():
            if faults and not entry.fields:
                break
            return entry.type.lower(), key, {name.lower(): value[:_MAX_FIELD] for name, value in entry.fields.items()}
        raise BadRecord(f"not an entry of BibTeX: {faults[0] if faults else 'no fields'}")


def _joined_key(found: re.Match[str]) -> str:
    return found[1] + "_".join(found[2].split())


def record(entry_type: str, citation_key: str, fields: Fields, version: int = 0) -> SourceRecord:
    """Return the state of an entry. Raises BadRecord if it has neither an identifier nor a title."""
    found = work_fields(entry_type, fields)
    ids: Ids = found["ids"]
    if found["title"] is None and not ids.keys():
        raise BadRecord("neither an identifier nor a title")
    key = ids.doi or values.key(citation_key, found["title"], found["year"])
    if found["type"] in UNCITED:
        return SourceRecord(key, version, None)
    return SourceRecord(key, version, Work.made({"id": work_id(ids, f"bibtex:{key}"), **found}))


def work_fields(entry_type: str, fields: Fields) -> dict[str, Any]:
    """Return the fields of `reflink.entities.Work` that an entry states, without ``id``."""
    kind = work_type("bibtex", entry_type)
    ids = _ids(fields)
    title = joined(_texts(fields, "title", "subtitle")) or next(iter(_texts(fields, "booktitle", "maintitle")), None)
    names, groups = _people(fields.get("author", ""))
    if not names and kind in BOOKS:
        names, groups = _people(fields.get("editor", ""))
    year = values.year(text_of(fields, "year")) or values.year(fields.get("date"))
    venues = [each for each in _texts(fields, *_VENUES) if each != title]
    first, last = first_and_last(text_of(fields, "pages") or "")
    language = text_of(fields, "langid") or text_of(fields, "language")
    return {
        "ids": ids,
        "title": title,
        "translated_titles": tuple(each for each in _texts(fields, "origtitle", "titleaddon") if each != title),
        "authors": names,
        "collectives": groups,
        "venue": venues[0] if venues else None,
        "venue_abbreviations": tuple(venues[1:]),
        "issns": values.issns(fields.get("issn", "")[: values.MAX_SHORT].replace(",", " ").split()),
        "year": year,
        "volume": values.short(text_of(fields, "volume")),
        "issue": values.short(text_of(fields, "number") or text_of(fields, "issue")),
        "fpage": first or values.short(text_of(fields, "eid")),
        "lpage": last,
        "type": kind,
        "language": values.language(language),
    }  # fmt: skip


def _ids(fields: Fields) -> Ids:
    sort = (fields.get("eprinttype") or fields.get("archiveprefix") or "").lower()
    known = {_EPRINTS[sort]: fields.get("eprint")} if sort in _EPRINTS else {}
    doi = fields.get("doi", "").replace("\\", "")
    return values.ids(**{"doi": doi, "pmid": fields.get("pmid"), "pmcid": fields.get("pmcid"), **known})


def _people(field: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return last names and names of groups in order, and the groups. A name in braces is that of a group or a single name."""
    found = list(people(field))
    return tuple(last for last, _, _ in found), tuple(last for last, _, group in found if group)


def people(field: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the last name, given names and whether it is a group, of each name of a list."""
    for name in _AND.split(" ".join(field.split())):
        whole = values.short(_plain(name))
        if whole is None or whole == "others":
            continue
        braced = name.startswith("{") and name.endswith("}") and "}" not in name[1:-1]
        group = (braced and " " in whole) or is_group(whole)
        last, given = (whole, "") if group or braced else divided(whole)
        if last:
            yield last, given, group


def _texts(fields: Fields, *names: str) -> list[str]:
    return list(dict.fromkeys(found for name in names if (found := text_of(fields, name))))


def text_of(fields: Fields, name: str) -> str | None:
    """Return a field without TeX's accents, commands and braces."""
    value = fields.get(name)
    return values.text(_plain(value)) if value else None


def _plain(latex: str) -> str:
    """Return text without TeX's accents, commands and braces."""
    if "\\" in latex:
        try:
            latex = codecs.decode(latex, "ulatex")  # type: ignore[call-overload]
        except ValueError:
            latex = latex.replace("\\", " ")
        latex = _COMMAND.sub("", latex)
    return latex.replace("{", "").replace("}", "").replace("~", " ").replace("$", "")
