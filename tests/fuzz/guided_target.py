"""The process that atheris fuzzes in: ``python -m tests.fuzz.guided_target REPORT FINDS CORPUS [libFuzzer options]``.

Finds are noted and saved, and fuzzing goes on.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from random import Random

import atheris

with atheris.instrument_imports(include=["reflink.jats", "reflink.identifiers", "reflink.workids", "reflink.recognition"]):
    import reflink.jats  # noqa: F401  first, so that its modules are the instrumented ones

from tests.fuzz.campaign import Find, Tally, find_of, run_one, save
from tests.fuzz.guided import LONGEST
from tests.fuzz.mutations import Input, mutate

_EVERY = 100


def main() -> None:
    report, finds, *options = sys.argv[1:]
    tally, kept = Tally(), Counter[str]()

    def one(data: bytes) -> None:
        item = Input(tally.runs, data, "guided.xml", None, "guided", ())
        if broken := run_one(item, tally):
            tally.signatures[broken.signature] += 1
            if tally.signatures[broken.signature] <= 2:
                find: Find = find_of(item, broken)
                save([find], Path(finds), "guided")
                kept[broken.signature] += 1
                write()
        if tally.runs % _EVERY == 0:
            write()

    def write() -> None:
        summary = {
            "inputs": tally.runs, "outcomes": dict(tally.outcomes.most_common()), "read_twice": tally.confirmed,
            "slowest": {"cpu_seconds": round(tally.slowest[0], 4), "number": tally.slowest[1]}, "finds": dict(tally.signatures),
        }  # fmt: skip
        partial = Path(f"{report}.partial")
        partial.write_text(json.dumps(summary))
        partial.replace(report)

    def mutator(data: bytes, longest: int, seed: int) -> bytes:
        """Half of the time a mutation that knows markup, else one of libFuzzer's own."""
        rng = Random(seed)
        changed = mutate(rng, data) if rng.random() < 0.5 else atheris.Mutate(data, min(longest, LONGEST))
        return changed[:longest]

    atheris.Setup([sys.argv[0], *options], one, custom_mutator=mutator)
    write()
    atheris.Fuzz()


if __name__ == "__main__":
    main()
