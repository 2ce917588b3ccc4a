"""Convert a link to a flat row, from an event of the topic ``links`` or a line of ``reflink link --json``."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson

from reflink.errors import BadRecord

#: The newest readable schema version of link events. Newer events could be misread, so they are rejected.
NEWEST_EVENT: Final = 1

_LARGEST: Final = 2**63 - 1


class Row(NamedTuple):
    """The outcome of one reference, with the columns of the Parquet file. Times are milliseconds since 1970.

    The last five fields are None for a line of ``reflink link --json``, which does not contain them.
    """

    reference: str
    citing: str
    cited: str | None
    unresolved: str | None
    method: str | None
    score: float | None
    probability: float | None
    status: str | None
    reasons: list[str]
    runner_up: str | None
    runner_up_score: float | None
    runner_up_probability: float | None
    related: str | None
    relation: str | None
    paper_version: int | None
    catalog_offset: int | None
    arrived: int | None
    judged: int | None
    live: bool | None


def read(value: bytes, *, bare: bool = False) -> Row:
    """Return the row of a link event or, with ``bare``, also of a link without its event. Raises BadRecord.

    Only the fields of the row are checked; unknown fields are ignored.
    """
    try:
        event = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise BadRecord(f"not JSON: {error}") from None
    if not isinstance(event, dict):
        raise BadRecord("not a JSON object")
    if bare and "schema_version" not in event:
        return _row(event, None)
    version = event.get("schema_version")
    if type(version) is not int or version < 1:
        raise BadRecord(f"schema_version is {version!r} and must be a number from 1 on")
    if version > NEWEST_EVENT:
        raise BadRecord(f"schema_version {version} is newer than {NEWEST_EVENT}, the newest that is read: upgrade reflink")
    link = event.get("link")
    if not isinstance(link, dict):
        raise BadRecord("link: an object is missing")
    return _row(link, event)


def _row(link: dict[str, Any], event: dict[str, Any] | None) -> Row:
    if "cited" not in link:
        raise BadRecord("link.cited is missing; null means no link")
    second, related = link.get("runner_up") or {}, link.get("related") or {}
    reasons = link.get("reasons") or []
    if not isinstance(second, dict):
        raise BadRecord("link.runner_up must be an object")
    if not isinstance(related, dict):
        raise BadRecord("link.related must be an object")
    if not isinstance(reasons, list) or not all(isinstance(each, str) for each in reasons):
        raise BadRecord("link.reasons must be texts")
    live = None if event is None else event.get("live", True)
    if live is not None and not isinstance(live, bool):
        raise BadRecord("live must be true or false")
    return Row(
        reference=_required(link, "reference"),
        citing=_required(link, "citing"),
        cited=_text(link, "cited"),
        unresolved=_text(link, "unresolved"),
        method=_text(link, "method"),
        score=_number(link, "score"),
        probability=_number(link, "probability"),
        status=_text(link, "status"),
        reasons=reasons,
        runner_up=_text(second, "cited"),
        runner_up_score=_number(second, "score"),
        runner_up_probability=_number(second, "probability"),
        related=_text(related, "work"),
        relation=_text(related, "relation"),
        paper_version=_whole(event, "paper_version"),
        catalog_offset=_whole(event, "catalog_offset"),
        arrived=_whole(event, "arrived"),
        judged=_whole(event, "judged"),
        live=live,
    )


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise BadRecord(f"{name} must be a text")
    return value


def _required(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise BadRecord(f"{name} must be a text, and is {'missing' if value is None else 'none'}")
    return value


def _number(fields: dict[str, Any], name: str) -> float | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRecord(f"{name} must be a number")
    return float(value)


def _whole(event: dict[str, Any] | None, name: str) -> int | None:
    if event is None:
        return None
    value = event.get(name)
    if type(value) is not int or abs(value) > _LARGEST:
        raise BadRecord(f"{name} must be a whole number of at most 64 bits, and is {'missing' if value is None else 'none'}")
    return value
