"""The process that atheris fuzzes in: ``python -m tests.campaigns.fuzz.guided_target REPORT FINDS CORPUS [libFuzzer options]``.

It records and saves finds, and continues.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import atheris

with atheris.instrument_imports(include=["reflink.jats", "reflink.identifiers", "reflink.workids", "reflink.recognition"]):
    import reflink.jats  # noqa: F401  first, so that its modules are the instrumented ones

from tests.campaigns.fuzz.campaign import Tally, find_of, run_one, save
from tests.campaigns.fuzz.guided import LONGEST
from tests.campaigns.fuzz.mutations import Input, mutate
from tests.campaigns.reporting import write_json

_EVERY = 100


def main() -> None:
    report, finds, *options = sys.argv[1:]
    tally = Tally()

    def one(data: bytes) -> None:
        item = Input(tally.runs, data, "guided.xml", None, "guided", ())
        if broken := run_one(item, tally):
            tally.signatures[broken.signature] += 1
            if tally.signatures[broken.signature] <= 2:
                save([find_of(item, broken)], Path(finds), "guided")
                write()
        if tally.runs % _EVERY == 0:
            write()

    def write() -> None:
        write_json(Path(report), tally.summary())

    def mutator(data: bytes, longest: int, seed: int) -> bytes:
        """Return, half of the time, a mutation that knows markup, otherwise one of libFuzzer's mutations."""
        rng = Random(seed)
        changed = mutate(rng, data) if rng.random() < 0.5 else atheris.Mutate(data, min(longest, LONGEST))
        return changed[:longest]

    atheris.Setup([sys.argv[0], *options], one, custom_mutator=mutator)
    write()
    atheris.Fuzz()


if __name__ == "__main__":
    main()
