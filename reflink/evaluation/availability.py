"""Which fields works and references have, and how long they are: the paper's Tables 1 and 4 on other data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any, Final

from reflink.entities import Reference, Work
from reflink.evaluation import published
from reflink.text import Described

#: Share of the fields that a limit leaves whole.
WHOLE: Final = 0.95


def values(record: Described) -> dict[str, str]:
    """Each field as the texts are made of it, before it is truncated or normalised; "" where it is missing."""
    return {
        "T": (record.title or "").strip(),
        "V": (record.venue or "").strip(),
        "Y": "" if record.year is None else str(record.year),
        "L": " ".join(record.last_names).strip(),
        "A": (getattr(record, "abstract", None) or "").strip(),
    }


def fields(works: Sequence[Work], references: Sequence[Reference]) -> dict[str, Any]:
    """Share of each side that has a field, the paper's beside it: ``{"candidates": {"T": {"share", "published"}, …}, …}``."""
    sides: tuple[tuple[str, Sequence[Described], Mapping[str, float]], ...] = (
        ("candidates", works, published.CANDIDATE_FIELDS),
        ("references", references, published.REFERENCE_FIELDS),
    )
    told: dict[str, Any] = {}
    for side, records, of_paper in sides:
        counts = dict.fromkeys(of_paper, 0)
        for record in records:
            for letter, value in values(record).items():
                counts[letter] += bool(value)
        told[side] = {
            letter: {"share": round(count / len(records), 6) if records else 0.0, "published": of_paper[letter]}
            for letter, count in counts.items()
        }
    return {**told, "works": len(works), "queries": len(references)}


def limits(works: Iterable[Work]) -> dict[str, Any]:
    """The 95th percentile of the characters of each field, of the works that have it; None where none has.

    It is the least length that at least 95% do not exceed.
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
