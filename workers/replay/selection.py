"""The selection of links to re-evaluate: its criteria, their parsing from a command line, and its digest."""

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

#: Separates the bounds of a range of probabilities.
_DOTS: Final = ".."
_UNIT_MS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
#: Matches every reason why there is no link.
ANY: Final = "any"
#: The model or policy of a link that was decided before links had this field.
UNKNOWN: Final = "none"
#: A criterion with more values than this is described by their number and a digest.
_NAMED: Final = 5


class BadSelection(ReflinkError):
    """A selection, or a part of it, is invalid; the message describes the valid form."""


@dataclass(frozen=True)
class Selection:
    """Criteria for links. All given criteria must match, and any value of a set suffices. Without criteria every link matches.

    ``since`` (inclusive) and ``until`` (exclusive) limit the time of the decision, in the syntax of ``moment``. ``unresolved``:
    reasons, ``ANY`` for all. ``models`` and ``policies``: as in links, ``UNKNOWN`` for links without the field; the revision of
    a model may be omitted.
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

    def criteria(self) -> dict[str, Any]:
        """Return the given criteria as JSON-ready builtins; a set of many values appears as their number and a digest."""
        criteria: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, frozenset) and value:
                names = sorted(value)
                criteria[each.name] = names if len(names) <= _NAMED else f"{len(names)}, digest {_digest(names)}"
            elif value:
                criteria[each.name] = value
        return criteria

    def digest(self) -> str:
        """Return 12 hexadecimal digits that identify the selection."""
        return _digest(self.criteria())

    def may_include(self, key: bytes | None) -> bool:
        """Return whether a link with this key may match. This check is cheap, because it does not parse the value."""
        return not self.citing or (key or b"").partition(b"#")[0].decode("utf-8", "replace") in self.citing

    def as_of(self, now: int) -> Callable[[LinkEvent], bool]:
        """Return a predicate on links. Relative times count back from ``now``, in milliseconds since 1970.

        Raises BadSelection for an invalid time.
        """
        since = None if self.since is None else moment(self.since, now)
        until = None if self.until is None else moment(self.until, now)

        def matches(event: LinkEvent) -> bool:
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

        return matches


def moment(text: str, now: int) -> int:
    """Parse a time into milliseconds since 1970: ``2d``, ``3h``, ``30m`` or ``45s`` before ``now``, or ISO 8601.

    An ISO time without a zone is in UTC. Raises BadSelection.
    """
    if ago := re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([smhd])", text.strip()):
        return now - int(float(ago[1]) * _UNIT_MS[ago[2]])
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadSelection(
            f"{text!r} is not a time such as 2026-11-22, 2026-11-22T14:30, or 2d, 3h, 30m for a time ago"
        ) from None
    return int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() * 1000)


def probabilities(text: str) -> tuple[float, float]:
    """Parse a range of probabilities: ``A..B`` (both included), ``A..`` (up to 1) or ``..B`` (from 0). Raises BadSelection."""
    low, dots, high = text.partition(_DOTS)
    try:
        low_bound, high_bound = float(low or 0), float(high or 1)
    except ValueError:
        dots = ""
    if not dots or not (low or high) or not 0 <= low_bound <= high_bound <= 1:
        raise BadSelection(f"{text!r} is not a range of probabilities such as 0.5..0.9, 0.97.. or ..0.2")
    return low_bound, high_bound


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return the names of the criteria in which two results of ``criteria`` differ, separated by commas."""
    as_json = (orjson.loads(orjson.dumps(each)) for each in (one, other))  # JSON turns tuples into lists
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
