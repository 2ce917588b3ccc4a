"""Availability and length of the fields of works and references: the paper's Tables 1 and 4 on other data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any, Final

from reflink.entities import Reference, Work
from reflink.evaluation import published
from reflink.text import Described

#: Share of the fields that a limit does not truncate.
WHOLE: Final = 0.95


def values(record: Described) -> dict[str, str]:
    """Return each field as used in the texts, before truncation and normalisation; "" if it is missing."""
    return {
        "T": (record.title or "").strip(),
        "V": (record.venue or "").strip(),
        "Y": "" if record.year is None else str(record.year),
        "L": " ".join(record.last_names).strip(),
        "A": (getattr(record, "abstract", None) or "").strip(),
    }


def fields(works: Sequence[Work], references: Sequence[Reference]) -> dict[str, Any]:
    """Return the share of candidates and of references with each field, and the paper's share.

    ``{"candidates": {"T": {"share", "published"}, …}, "references": …, "works", "queries"}``.
    """
    sides: tuple[tuple[str, Sequence[Described], Mapping[str, float]], ...] = (
        ("candidates", works, published.CANDIDATE_FIELDS),
        ("references", references, published.REFERENCE_FIELDS),
    )
    shares: dict[str, Any] = {}
    for side, records, of_paper in sides:
        counts = dict.fromkeys(of_paper, 0)
        for record in records:
            for letter, value in values(record).items():
                counts[letter] += bool(value)
        shares[side] = {
            letter: {"share": round(count / len(records), 6) if records else 0.0, "published": of_paper[letter]}
            for letter, count in counts.items()
        }
    return {**shares, "works": len(works), "queries": len(references)}


def limits(works: Iterable[Work]) -> dict[str, Any]:
    """Return the 95th percentile of each field's length in characters, over the works that have it; None if no work has it.

    The percentile is the smallest length that at least 95% do not exceed.
    """
    lengths: dict[str, list[int]] = {letter: [] for letter in published.LIMITS}
    for work in works:
        for letter, value in values(work).items():
            if value:
                lengths[letter].append(len(value))
    return {
        letter: {"characters": _percentile(sorted(of)), "published": published.LIMITS[letter], "works": len(of)}
        for letter, of in lengths.items()
    }


def _percentile(ordered: Sequence[int]) -> int | None:
    return ordered[ceil(WHOLE * len(ordered)) - 1] if ordered else None
