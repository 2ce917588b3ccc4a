"""Read lists of articles in CSV: PMC-ids.csv, Europe PMC's list of identifiers, and lists of PMC's files.

Each row completes and joins records of other sources: it has identifiers, and no title.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

from reflink.entities import Ids, Work
from reflink.errors import BadRecord
from reflink.identifiers import normalise_doi, normalise_issn, normalise_pmcid, normalise_pmid
from reflink.sources.files import lines
from reflink.sources.source import SourceRecord
from reflink.workids import work_id

#: Columns of the lists, by the name of a field. The lists of files have an "Accession ID", written in two ways.
_COLUMNS: Final = {
    "pmcid": "pmcid", "accession id": "pmcid", "accessionid": "pmcid", "pmid": "pmid", "doi": "doi", "journal title": "journal",
    "issn": "issn", "eissn": "eissn", "year": "year", "volume": "volume", "issue": "issue", "page": "page",
    "retracted": "retracted",
}  # fmt: skip
_PAGE: Final = re.compile(r"[A-Za-z]{0,8}\d[\w.-]{0,20}")
_YEAR: Final = re.compile(r"(1[5-9]|20)\d\d")
#: Maximum number of bytes of a row, and of characters of a field.
_MAX_ROW: Final = 1 << 16
_MAX_FIELD: Final = 300


def rows(content: IO[bytes], name: str, version: int) -> Iterator[SourceRecord | BadRecord]:
    """Yield the partial record of each row with two identifiers, or with one and a retraction. ``version``: of the file.

    The key is the PMCID, ``:list`` behind it in a list that has no DOIs. A file without the columns gives one BadRecord.
    """
    fields: list[str | None] = []
    for line in lines(content, name, _MAX_ROW):
        if isinstance(line, BadRecord):
            yield line
            continue
        number, data = line
        try:
            values = _values(data.decode("utf-8-sig" if not fields else "utf-8"))
        except (UnicodeDecodeError, csv.Error) as error:
            yield BadRecord(f"{name}:{number}: {error}"[:300])
            continue
        if not fields:
            fields = [_COLUMNS.get(value.strip().lower()) for value in values]
            if "pmcid" not in fields or ("pmid" not in fields and "doi" not in fields):
                yield BadRecord(f"{name}:{number}: the columns PMCID (or Accession ID) and PMID or DOI are missing")
                return
        elif found := _record({field: value for field, value in zip(fields, values) if field}, version, "doi" in fields):  # noqa: B905 - short rows
            yield found


def _values(row: str) -> list[str]:
    row = row.rstrip("\r\n")
    return next(csv.reader((row,))) if '"' in row else row.split(",")


def _record(row: Mapping[str, str], version: int, has_dois: bool) -> SourceRecord | None:
    known = {
        "doi": normalise_doi(row.get("doi", "")),
        "pmid": normalise_pmid(row.get("pmid", "")),
        "pmcid": normalise_pmcid(row.get("pmcid", "")),
    }
    ids = Ids.made({kind: value for kind, value in known.items() if value})
    keys = ids.keys()
    retracted = row.get("retracted", "").strip().lower() == "yes"
    if len(keys) < (1 if retracted else 2):
        return None
    found: dict[str, Any] = {"id": work_id(ids, None), "ids": ids}
    for field, name in (("volume", "volume"), ("issue", "issue"), ("page", "fpage")):
        if (value := row.get(field, "").strip()[:_MAX_FIELD]) and (field != "page" or _PAGE.fullmatch(value)):
            found[name] = value
    if journal := row.get("journal", "").strip()[:_MAX_FIELD]:
        found["venue_abbreviations"] = (journal,)
    if issns := tuple(filter(None, (normalise_issn(row.get(field, "")[:_MAX_FIELD]) for field in ("issn", "eissn")))):
        found["issns"] = tuple(dict.fromkeys(issns))
    if _YEAR.fullmatch(row.get("year", "")):
        found["year"] = int(row["year"])
    if retracted:
        found["status"] = "retracted"
    return SourceRecord(f"{ids.pmcid or keys[0]}{'' if has_dois else ':list'}", version, Work.made(found), partial=True)
