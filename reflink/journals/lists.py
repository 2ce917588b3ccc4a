"""Read lists of journals: NLM's J_Medline.txt and J_Entrez.txt, Crossref's journal list, and JSON lines.

- NLM's files have a block of lines for each journal: ``JournalTitle``, ``MedAbbr``, ``IsoAbbr``, ``ISSN (Print)`` and
  ``ISSN (Online)``; a line of hyphens separates the blocks.
- Crossref's file is CSV with a header: ``JournalTitle``, ``pissn``, ``eissn`` and ``additionalIssns`` are read.
- JSON lines have the fields of `Journal`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from reflink.errors import BadRecord
from reflink.journals.names import issn_key
from reflink.journals.table import Journal

_NAMES: Final = ("JournalTitle", "MedAbbr", "IsoAbbr")
_ISSNS: Final = ("ISSN (Print)", "ISSN (Online)")
_TITLE: Final = "JournalTitle"
_CROSSREF_ISSNS: Final = ("pissn", "eissn", "additionalIssns")


def read_list(path: Path) -> Iterator[Journal]:
    """Yield the journals of a list; its first line that is not blank shows the format. A journal without a name is left out.

    Raises BadRecord if the file is of no known format or a line is invalid, and OSError.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            at, first = next(((at, line) for at, line in enumerate(file) if not line.isspace()), (0, ""))
            lines = chain([first], file)
            if first.lstrip().startswith("{"):
                yield from _json_lines(path, enumerate(lines, start=at + 1))
            elif first.startswith(("---", "JrId:")):
                yield from _nlm(lines)
            elif _TITLE in (header := next(csv.reader([first]), [])) and "pissn" in header:
                yield from _crossref(lines)
            else:
                raise BadRecord(f"{path}: not a list of journals: expected J_Medline.txt, Crossref's CSV, or JSON lines")
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadRecord(f"{path}: cannot be read: {error}") from None


def _json_lines(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[Journal]:
    for number, line in lines:
        if line.isspace():
            continue
        try:
            journal = Journal.from_json(line)
        except BadRecord as error:
            raise BadRecord(f"{path}:{number}: {error}") from None
        yield from _journal(journal.names, journal.issns)


def _nlm(lines: Iterable[str]) -> Iterator[Journal]:
    block: dict[str, str] = {}
    for line in (*lines, "---"):
        if line.startswith("---"):
            yield from _journal([block.get(name, "") for name in _NAMES], [block.get(name, "") for name in _ISSNS])
            block = {}
        else:
            name, _, value = line.partition(":")
            block[name.strip()] = value.strip()


def _crossref(lines: Iterable[str]) -> Iterator[Journal]:
    for row in csv.DictReader(lines):
        issns = [issn for name in _CROSSREF_ISSNS for issn in (row.get(name) or "").replace(";", " ").replace(",", " ").split()]
        yield from _journal([(row.get(_TITLE) or "").strip()], issns)


def _journal(names: Iterable[str], issns: Iterable[str]) -> Iterator[Journal]:
    kept = tuple(dict.fromkeys(name for name in names if name))
    keys = dict.fromkeys(key for issn in issns if (key := issn_key(issn)))
    if kept:
        yield Journal(names=kept, issns=tuple(key.removeprefix("issn:") for key in keys))
