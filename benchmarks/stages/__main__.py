"""Measure what each stage of the linker costs over catalogs of several sizes, beside the bound of each stage.

    python -m benchmarks.stages [--sizes 100000,500000,1000000,5000000] [--rounds 3] [--keep DIR] [--json FILE]
                                [--plot docs/stages.svg]

Microseconds of processor time per reference, on one core: lookups by identifier and locator, works verified; the encoder in
batches of 64; exact vectors, 64 queries per call (random vectors: the time of a search does not depend on them); exact
trigrams, 256 queries per call; and the verdict on candidates, their records read from the catalog, in batches of 64. Both
searches return 5 works. References are the protocol's. Works: catalogs.py. Bounds: bounds.py.

A catalog of 5,000,000 works takes more than ten minutes of one core to write and build. With --keep, later runs of the
same works, references and --held-out use it again.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks import harness
from benchmarks.lexical.building import apart
from benchmarks.machine import describe
from benchmarks.stages import catalogs, measure
from benchmarks.stages.bounds import Machine

SIZES: Final = "100000,500000,1000000,5000000"
HELD_OUT: Final = 1500


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    harness.add_protocol(parser)
    parser.add_argument("--sizes", type=harness.numbers, default=SIZES, help="works (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="repetitions, whose median counts (default: %(default)s)")
    parser.add_argument("--held-out", type=int, default=HELD_OUT, help="references without target (default: %(default)s)")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="keep the catalogs here for later runs of the same works, references and --held-out",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw cost against size, SVG")
    arguments = parser.parse_args(argv)
    one_thread()
    print(describe())
    inputs = catalogs.digest(arguments.works, arguments.references, arguments.held_out)
    given = catalogs.protocol(arguments.works, arguments.references, arguments.held_out)
    machine = Machine.measure()
    print(
        f"one core: {machine.stream / 1e9:.1f} GB/s in order, {machine.read * 1e9:.0f} ns a random read, "
        f"{machine.multiply_adds / 1e9:.0f} G multiply-adds/s, {machine.bitmap * 1e9:.1f} ns to add a bitmap of a block"
    )
    encoded = measure.encoding(given.present, machine, arguments.rounds)
    sizes: list[dict[str, Any]] = []
    for count in sorted(arguments.sizes):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) if arguments.keep is None else arguments.keep / f"{count}-{inputs}"
            if not catalogs.are_made(folder):
                apart(catalogs.make, arguments.works, arguments.references, arguments.held_out, count, folder)
            stages = measure.catalog_stages(folder, given, machine, arguments.rounds)
        sizes.append({"works": count, "stages": {**stages, measure.ENCODING: encoded}})
        harness.save(arguments.json, {"core": machine._asdict(), "sizes": sizes})
    show(sizes)
    if arguments.plot is not None:
        from benchmarks.stages.plot import draw

        draw(sizes, arguments.plot)
    return 0


def one_thread() -> None:
    """Limit every library to one thread."""
    import numba
    import torch

    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    numba.set_num_threads(1)
    torch.set_num_threads(1)


def show(sizes: Sequence[Mapping[str, Any]]) -> None:
    """Print a table: a row per stage, a column per size, the bound in brackets."""
    table = Table(title="µs a reference (bound)")
    table.add_column("stage")
    for each in sizes:
        table.add_column(f"{each['works']:,} works", justify="right")
    table.add_column("the bound is of")
    for stage in measure.STAGES:
        figures = [each["stages"][stage] for each in sizes]
        cells = [f"{one['us']:,.1f} ({one['bound_us']:,.2f})" if one["bound"] else f"{one['us']:,.1f}" for one in figures]
        table.add_row(stage, *cells, figures[-1]["bound"] or "")
    Console(width=150).print(table)
    last = sizes[-1]["stages"]
    shares = ", ".join(f"{stage} {last[stage]['found']:.1%}" for stage in (measure.IDENTIFIER, measure.LOCATOR))
    candidates = ", ".join(f"{each['stages'][measure.VERDICT]['candidates']:.1f}" for each in sizes)
    print(f"a work is found: {shares}; candidates of a verdict: {candidates}; tokens: {last[measure.ENCODING]['tokens']:.0f}")


if __name__ == "__main__":
    sys.exit(main())
