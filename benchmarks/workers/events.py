"""Measure encoding and decoding of an event, per reference: pydantic's own serialiser against orjson over builtins.

    python -m benchmarks.workers.events [--rounds 7]

The contracts read with pydantic-core's validate_json, JSON and checks in one pass, and write with its to_json.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence

import orjson

from benchmarks import harness
from benchmarks.machine import describe
from benchmarks.workers.runtime import REFERENCES_PER_PAPER, an_event
from reflink.entities import Link
from schemas import SCHEMA_VERSION, Outcome, OutcomesEvent, ReferenceEvent

BATCH = 40 * 25


def outcome(event: ReferenceEvent) -> Outcome:
    link = Link(reference=event.reference.id, citing=event.citing, cited="doi:10.1000/x", method="semantic", score=0.99)
    return Outcome(reference=event.reference, link=link)


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__, figures=False)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args(argv).rounds
    data = [an_event(number // REFERENCES_PER_PAPER, number % REFERENCES_PER_PAPER + 1)[1] for number in range(BATCH)]
    events = [ReferenceEvent.from_json(each) for each in data]
    outcomes = OutcomesEvent(
        schema_version=SCHEMA_VERSION,
        kind="outcomes",
        citing=events[0].citing,
        paper_version=1,
        arrived=0,
        catalog_offset=0,
        judged=0,
        items=tuple(map(outcome, events[:REFERENCES_PER_PAPER])),
    )
    packed, validator = outcomes.to_json(), ReferenceEvent.__pydantic_validator__

    def checked(each: bytes) -> ReferenceEvent:
        return validator.validate_python(orjson.loads(each))

    print(describe())
    print(
        f"{BATCH} references of {sum(map(len, data)) // BATCH} bytes, medians of {rounds} rounds, microseconds per reference\n"
    )
    rows: list[tuple[str, Callable[[], object], int]] = [
        ("reference: read as the workers do", lambda: [ReferenceEvent.from_json(each) for each in data], BATCH),
        ("reference: orjson.loads, then pydantic validate_python", lambda: [checked(each) for each in data], BATCH),
        ("reference: pydantic validate_json", lambda: [validator.validate_json(each) for each in data], BATCH),
        ("reference: orjson.loads alone, unchecked", lambda: [orjson.loads(each) for each in data], BATCH),
        ("reference: encode, pydantic to_json (used)", lambda: [each.to_json() for each in events], BATCH),
        ("reference: model_dump, then orjson.dumps", lambda: [orjson.dumps(each.to_dict()) for each in events], BATCH),
        ("outcomes of a paper: decode and validate", lambda: [OutcomesEvent.from_json(packed) for _ in range(25)], BATCH),
        ("outcomes of a paper: encode", lambda: [outcomes.to_json() for _ in range(25)], BATCH),
    ]
    for name, work, references in rows:
        print(f"{name:58} {statistics.median(harness.seconds(work, rounds)) / references * 1e6:8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
