"""Which links shall be judged again: a selection, its words from a command line, and its digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from reflink.errors import ReflinkError
from schemas import LinkEvent

#: Ends a range of probabilities.
_DOTS: Final = ".."
_UNIT_MS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
#: Any reason why there is no link.
ANY: Final = "any"
#: What a link says of itself that was judged before links said it.
UNKNOWN: Final = "none"
#: So many papers of a selection are named; of more there is a digest.
_NAMED: Final = 5


class BadSelection(ReflinkError):
    """A selection, or a part of it, that cannot be meant; says what it must look like."""


@dataclass(frozen=True)
class Selection:
    """All that is said must hold; of each list, any. Nothing said: everything.

    ``since`` and ``until`` are times of judgement, as ``moment`` reads them. ``unresolved``: reasons, ``ANY`` for all.
    ``models`` and ``policies`` are as links have them, ``UNKNOWN`` for those without; a model's revision may be left out.
    """

    since: str | None = None
    until: str | None = None
    citing: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    unresolved: frozenset[str] = frozenset()
    probability: tuple[float, float] | None = None
    models: frozenset[str] = frozenset()
    not_models: frozenset[str] = frozenset()
    policies: frozenset[str] = frozenset()
    not_policies: frozenset[str] = frozenset()
    cited: frozenset[str] = frozenset()

    def said(self) -> dict[str, Any]:
        """What it says, JSON-ready; of many values their number and a digest."""
        told: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, frozenset) and value:
                told[each.name] = sorted(value) if len(value) <= _NAMED else f"{len(value)}, digest {_digest(sorted(value))}"
            elif value:
                told[each.name] = value
        return told

    def digest(self) -> str:
        """12 hexadecimal digits, the same for the same selection."""
        return _digest(self.said())

    def asks_for(self, key: bytes | None) -> bool:
        """Whether a link under this key may be meant; cheap, and before its value is read."""
        return not self.citing or (key or b"").partition(b"#")[0].decode("utf-8", "replace") in self.citing

    def as_of(self, now: int) -> Callable[[LinkEvent], bool]:
        """Says of a link whether it is meant; times that are so long ago count from ``now``, in milliseconds."""
        since = None if self.since is None else moment(self.since, now)
        until = None if self.until is None else moment(self.until, now)

        def meant(event: LinkEvent) -> bool:
            link = event.link
            return (
                (since is None or event.judged >= since)
                and (until is None or event.judged < until)
                and (not self.citing or event.link.citing in self.citing)
                and (not self.methods or link.method in self.methods)
                and (not self.unresolved or (link.unresolved is not None and _any(link.unresolved, self.unresolved)))
                and (self.probability is None or _between(link.probability, self.probability))
                and (not self.models or _is_model(event.model, self.models))
                and not _is_model(event.model, self.not_models)
                and (not self.policies or (event.policy or UNKNOWN) in self.policies)
                and (event.policy or UNKNOWN) not in self.not_policies
                and (not self.cited or link.cited in self.cited)
            )

        return meant


def moment(text: str, now: int) -> int:
    """Milliseconds since 1970 of a time: ``2d``, ``3h``, ``30m`` or ``45s`` ago, or ISO (UTC where no zone is named).

    Raises BadSelection.
    """
    if ago := re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([smhd])", text.strip()):
        return now - int(float(ago[1]) * _UNIT_MS[ago[2]])
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadSelection(f"{text!r} is no time: 2026-11-22, 2026-11-22T14:30, or 2d, 3h, 30m ago") from None
    return int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() * 1000)


def probabilities(text: str) -> tuple[float, float]:
    """``A..B``, both included; ``A..`` and ``..B`` are open to 1 and 0. Raises BadSelection."""
    low, dots, high = text.partition(_DOTS)
    try:
        least, most = float(low or 0), float(high or 1)
    except ValueError:
        dots = ""
    if not dots or not (low or high) or not 0 <= least <= most <= 1:
        raise BadSelection(f"{text!r} is no range of probabilities: 0.5..0.9, 0.97.. or ..0.2")
    return least, most


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The parts in which two selections, as they are ``said``, are not the same."""
    as_json = (orjson.loads(orjson.dumps(each)) for each in (one, other))  # a tuple is a list by then
    here, there = as_json
    return ", ".join(sorted(name for name in {*here, *there} if here.get(name) != there.get(name)))


def _digest(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]


def _is_model(model: str | None, wanted: frozenset[str]) -> bool:
    return model in wanted or (model or UNKNOWN).partition("@")[0] in wanted


def _any(reason: str, wanted: frozenset[str]) -> bool:
    return ANY in wanted or reason in wanted


def _between(value: float | None, bounds: tuple[float, float]) -> bool:
    return value is not None and bounds[0] <= value <= bounds[1]
