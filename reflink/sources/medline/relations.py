"""Relations of a PubMed record to others ("Retraction in", "Comment on"), and the status that they give it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from lxml import etree

from reflink.entities import Ids, Related, Relation
from reflink.identifiers import extract, normalise_pmid

#: Relation by ``RefType`` of the DTD. A retracted work that was republished corrected is related to both.
_KINDS: Final[dict[str, Relation]] = {
    "CommentIn": "commented-by", "CommentOn": "comments-on",
    "CorrectedandRepublishedFrom": "version-of", "CorrectedandRepublishedIn": "has-version",
    "ErratumFor": "corrects", "ErratumIn": "corrected-by",
    "ExpressionOfConcernFor": "concerns", "ExpressionOfConcernIn": "concern-by",
    "OriginalReportIn": "companion", "SummaryForPatientsIn": "companion",
    "ReprintIn": "has-version", "ReprintOf": "version-of", "RepublishedFrom": "version-of", "RepublishedIn": "has-version",
    "RetractedandRepublishedFrom": "version-of", "RetractedandRepublishedIn": "retracted-by",
    "RetractionIn": "retracted-by", "RetractionOf": "retracts", "UpdateIn": "has-version", "UpdateOf": "version-of",
}  # fmt: skip
#: A preprint server in the source of a relation: "Update of" then names the preprint of the record.
_PREPRINT: Final = re.compile(r"(?i)\b(?:(?:bio|med|chem|ps[yi])a?rxiv|arxiv|res(?:earch)? sq(?:uare)?|ssrn|preprints?)\b")
_STATUS: Final[dict[Relation, str]] = {"retracted-by": "retracted", "concern-by": "concern"}
#: Maximum characters of a source that are read, and number of relations.
_MAX: Final = 1_000
_MAX_RELATIONS: Final = 10_000


def related(corrections: etree._Element, own: Ids, preprint: bool) -> tuple[Related, ...]:
    """Return the distinct relations of a ``CommentsCorrectionsList`` in order. ``preprint``: the record is of a preprint."""
    found: dict[tuple[Relation, tuple[str, ...]], Related] = {}
    itself = frozenset(own.keys())
    for kind, ids, stated in _stated(corrections, preprint):
        keys = ids.keys()
        if keys and itself.isdisjoint(keys):
            found.setdefault((kind, keys), Related.made({"kind": kind, "ids": ids, "stated": stated}))
    return tuple(found.values())


def status(kinds: Iterable[Relation], types: Iterable[str]) -> str | None:
    """Return ``retracted`` or ``concern`` for a record with relations of these kinds and these publication types, else None."""
    known = set(kinds)
    if "Retracted Publication" in types:
        return "retracted"
    return next((_STATUS[kind] for kind in _STATUS if kind in known), None)


def _stated(corrections: etree._Element, preprint: bool) -> Iterator[tuple[Relation, Ids, str]]:
    for item in islice(corrections, _MAX_RELATIONS):
        stated = item.get("RefType") or ""
        kind = _KINDS.get(stated)
        if item.tag != "CommentsCorrections" or kind is None:
            continue
        source = next(("".join(map(str, part.itertext()))[:_MAX] for part in item if part.tag == "RefSource"), "")
        if stated == "UpdateIn" and preprint:
            kind = "preprint-of"
        elif stated == "UpdateOf" and _PREPRINT.search(source):
            kind = "has-preprint"
        pmid = next((normalise_pmid(part.text or "") for part in item if part.tag == "PMID"), None)
        ids = extract(source)
        yield kind, ids.model_copy(update={"pmid": pmid}) if pmid else ids, stated
