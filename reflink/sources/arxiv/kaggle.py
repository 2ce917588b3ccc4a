"""Read a record of arXiv's metadata snapshot: a JSON object on one line."""

from __future__ import annotations

from datetime import date
from typing import Any

from reflink.sources.arxiv.preprints import Preprint, authors_of, source_record
from reflink.sources.source import SourceRecord


def record(value: dict[str, Any]) -> SourceRecord:
    """Return the record of one line. Its version is the date of its last change, then the number of its versions.

    Raises BadRecord if the id is not one of arXiv. Other fields of a wrong type count as missing.
    """
    versions = [each for each in _listed(value.get("versions")) if isinstance(each, dict)]
    parsed = [tuple(map(_text, each)) for each in _listed(value.get("authors_parsed")) if isinstance(each, list)]
    # The text has the groups that the parsed names lack, e.g. in brackets; the parsed names have the other parts.
    authors = tuple((each[0], each[1] if len(each) > 1 else "") for each in parsed if each)
    return source_record(
        Preprint(
            id=_text(value.get("id")),
            version=version_of(_text(value.get("update_date")), len(versions)),
            title=_text(value.get("title")),
            authors=authors or authors_of(_text(value.get("authors"))),
            created=_text(versions[0].get("created")) if versions else "",
            journal=_text(value.get("journal-ref")),
            doi=_text(value.get("doi")),
        )
    )


def version_of(changed: str, versions: int = 0) -> int:
    """Return the version of a record that changed on this day (ISO 8601) and has this number of versions."""
    try:
        day = date.fromisoformat(changed.strip()[:10]).toordinal()
    except ValueError:
        day = 0
    return day * 1_000 + min(versions, 999)


def _text(value: Any) -> str:
    return value if type(value) is str else ""


def _listed(value: Any) -> list[Any]:
    return value if type(value) is list else []
