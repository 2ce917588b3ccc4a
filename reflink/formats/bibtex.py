"""BibTeX and biblatex files: a bibliography without the text that cites it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from reflink.bibliography.citation import Citation
from reflink.errors import BadDump, BadRecord, NotAPaper, PackageMissing, TooLarge
from reflink.formats.content import Content
from reflink.formats.format import Format, Options, Parsed
from reflink.formats.records import bibliography, cited
from reflink.sources import bibtex, values

#: The beginning of an entry with its key.
_ENTRY: Final = re.compile(
    r"(?im)^[ \t]{0,20}@[ \t]{0,20}(?:article|book|booklet|mvbook|inbook|bookinbook|suppbook|collection|mvcollection|"
    r"incollection|suppcollection|dataset|manual|misc|online|electronic|www|patent|periodical|suppperiodical|proceedings|"
    r"mvproceedings|inproceedings|conference|reference|mvreference|inreference|report|techreport|software|thesis|phdthesis|"
    r"mastersthesis|unpublished)\s{0,20}[{(]\s{0,20}[^\s,{}()]{0,200}\s{0,20},"
)
#: Commands of documents; an entry of BibTeX may stand inside one.
_DOCUMENT: Final = re.compile(r"\\(?:documentclass|documentstyle|bibitem|begin\s{0,20}\{document\})")
#: Fields that an entry takes from the entry that its ``crossref`` names, after those that have another name there.
_INHERITED: Final = (
    "booktitle", "year", "date", "editor", "publisher", "volume", "number", "series", "journal", "journaltitle", "institution",
    "school", "organization", "langid",
)  # fmt: skip

_Entry = tuple[str, str, dict[str, str]]


class Bibtex(Format):
    """BibTeX: one paper without text, whose references are the entries."""

    name: ClassVar[str] = "bibtex"
    about: ClassVar[str] = "BibTeX and biblatex files; needs pip install 'reflink-stream[bibtex]'"
    endings: ClassVar[tuple[str, ...]] = (".bib",)

    def recognises(self, content: Content) -> bool:
        """Return whether the text has an entry, and is no document of LaTeX."""
        text = content.text
        return (
            text is not None
            and "@" in text
            and _ENTRY.search(text) is not None
            and _DOCUMENT.search(_uncommented(text)) is None
        )

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the bibliography. Entries that are not BibTeX are left out, with a warning. Raises PackageMissing."""
        if len(content.data) > options.limits.size:
            raise TooLarge(f"{content.name}: {len(content.data)} bytes of BibTeX, the limit is {options.limits.size}")
        faults: list[str] = []
        entries = list(_entries(content, faults, options.limits.references))
        named = {key.lower(): fields for _, key, fields in entries}
        if not entries and faults:
            raise NotAPaper(f"{content.name}: {faults[0]}")
        found = bibliography(content, (_cited(*entry, named) for entry in entries), options)
        if not faults:
            return found
        (parsed,) = found
        warning = f"{len(faults)} entries left out, the first {faults[0]}"
        return (Parsed(parsed.paper.model_copy(update={"warnings": (*parsed.paper.warnings, warning)})),)


def _uncommented(text: str) -> str:
    """Return the text up to the first entry: values of entries may hold any command."""
    found = _ENTRY.search(text)
    return text[: found.start()] if found else text


def _entries(content: Content, faults: list[str], limit: int) -> Iterator[_Entry]:
    """Yield type, key and fields of each entry. Raises PackageMissing without pybtex, TooLarge beyond the limit of entries."""
    try:
        parser = bibtex.Parser()
    except BadDump as error:
        raise PackageMissing(str(error)) from None
    count = 0
    for number, text in bibtex.entries(io.BytesIO(content.data)):
        try:
            entry = parser.parse(text)
        except BadRecord as error:
            faults.append(f"in line {number}: {error}"[:300])
            continue
        if entry is not None:
            count += 1
            if count > limit:
                raise TooLarge(f"{content.name}: more than {limit} references: divide the file")
            yield entry


def _cited(kind: str, key: str, fields: dict[str, str], named: Mapping[str, dict[str, str]]) -> tuple[str, Citation | None]:
    host = named.get(fields.get("crossref", "").lower()) or {}
    if "title" in host:
        fields.setdefault("booktitle", host["title"])
    fields.update({name: host[name] for name in _INHERITED if name in host and name not in fields})
    editors = (last for last, _, _ in bibtex.people(fields.get("editor", "")))
    publisher = next(
        (text for name in ("publisher", "institution", "school", "organization") if (text := bibtex.text_of(fields, name))),
        None,
    )
    work = bibtex.work_fields(kind, fields)
    addresses = [fields[name] for name in ("url", "howpublished") if name in fields]
    if "eprint" in fields and fields.keys().isdisjoint(("eprinttype", "archiveprefix")):
        addresses.append(f"arXiv:{fields['eprint']}")
    found = cited(
        work, bibtex.people(fields.get("author", "")), kind=kind, editors=editors, publisher=values.short(publisher),
        addresses=addresses,
    )  # fmt: skip
    return key, found
