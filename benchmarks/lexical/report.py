"""Print the measurements as tables, beside the targets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from benchmarks.lexical.measure import SEEDED, WITH, WITHOUT

#: Target ratio of plain counting's cost to ours at 5.27 million works, by kind and floor.
AIMS: Final[Mapping[tuple[str, float | None], int]] = {
    (WITHOUT, None): 13, (WITH, None): 50, (SEEDED, None): 100, (WITHOUT, 0.5): 30, (WITH, 0.5): 60,
}  # fmt: skip
#: Other targets: GB per million works, seconds of one core to build a million, seconds to open.
GB_A_MILLION: Final = 0.6
BUILD_SECONDS: Final = 30
OPEN_SECONDS: Final = 1
#: With fewer processor seconds per second than this, other load ran on the core.
QUIET: Final = 0.97
MIB: Final = 2**20


def likeness(mode: str, found: Mapping[str, Any]) -> str:
    """Show how similar the made works are to the real ones."""

    def row(name: str, values: Sequence[float], mean: str) -> str:
        return f"    {name:28}" + "".join(f"{value:>8}" for value in values) + f"{mean:>8}"

    means = [f"{mean:.1f}" for mean in found["postings_a_text"]]
    rows = [
        row("trigrams a text at quantiles", found["quantiles"], "mean"),
        row("  real", found["sizes"], means[0]),
        row("  made", found["made_sizes"], means[1]),
    ]
    chance = found["common_by_chance"]
    rows.append(
        f"    trigrams that two texts have in common by chance: real and real {chance[0]:.2f}, real and made {chance[1]:.2f}; "
        f"correlation of log frequencies {found['correlation_of_log_shares']:.3f}"
    )
    return f"  made works beside real ones, mode {mode}:\n" + "\n".join(rows)


def searches(figures: Mapping[str, Any], queries: Mapping[str, int], rounds: int) -> str:
    """Show ms per query: counting's, and ours by kind, floor, k and batch, with the ratio and its target."""
    asked = ", ".join(f"{number} {kind}" for kind, number in queries.items())
    lines = [
        f"  ms a query, in batches a call's time by its queries; {asked}",
        f"  medians of {rounds} rounds; {figures['cores']:.2f} processor seconds a second",
        f"  {'plain counting':34}{'mean':>8}{'p50':>8}{'p99':>8}",
    ]
    lines += [f"    {each['kind']:32}{_three(each)}" for each in figures["plain"]]
    batches = list(dict.fromkeys(each["batch"] for each in figures["ours"]))
    names = [f"   {'one a call' if batch == 1 else f'batches of {batch}':>28}" for batch in batches]
    head = f"{'mean':>10}{'p50':>7}{'p99':>7}{'ratio':>7}"
    lines += [f"  {'reflink':31}" + "".join(names), f"  {'':21}{'floor':>5}{'k':>3}  " + head * len(batches) + "  to reach"]
    cells = {(each["kind"], each["floor"], each["k"], each["batch"]): each for each in figures["ours"]}
    for kind, floor, k in dict.fromkeys(key[:3] for key in cells):
        row = "".join(_cell(cells[kind, floor, k, batch]) for batch in batches)
        aim = AIMS.get((kind, floor))
        lines.append(f"  {kind:21}{'none' if floor is None else floor:>5}{k:>3}  {row}" + (f"{aim:>9}x" if aim else ""))
    if figures["cores"] < QUIET:
        lines.append("  the machine was busy with other work: these figures are not to be used")
    wrong = figures["wrong"]
    lines.append(f"  every score as by counting: {'yes' if not wrong else f'NO, {len(wrong)} answers differ'}")
    return "\n".join(lines + [f"    {line}" for line in wrong[:10]])


def peers(rows: Sequence[Mapping[str, Any]]) -> str:
    """Show the cost, the build and the misses of the peers."""
    lines = [
        f"  {'peers, one query a call':30}{'queries':>18}{'mean':>10}{'p50':>9}{'p99':>9}"
        f"{'missed':>8}{'of 5':>7}{'built s':>9}{'MB':>7}"
    ]
    for each in rows:
        asked, built = f"{each['queries']} {each['kind']}", f"{each['built_seconds']:.0f}" if "built_seconds" in each else ""
        figures = f"{each['mean']:>10.1f}{each['p50']:>9.1f}{each['p99']:>9.1f}{each['missed']:>8.1%}"
        figures += f"{each['missed_of_five']:>7.1%}" if "missed_of_five" in each else " " * 7
        lines.append(f"  {each['peer']:30}{asked:>18}{figures}{built:>9}{each['bytes'] / 1e6:>7.0f}")
    return "\n".join(lines)


def building(count: int, built: Mapping[str, Any], opened: Mapping[str, float]) -> str:
    """Show building, opening, and memory, with mapped memory apart."""
    million = count / 1e6
    sizes = {name: size / million / 1e6 for name, size in built["bytes"].items()}
    ids = sizes.get("ids", 0.0) + sizes.get("id_offsets", 0.0)
    arrays = ", ".join(f"{name} {size:.0f}" for name, size in sizes.items() if size >= 1)
    again = " (measured when it was built)" if built["earlier"] else ""
    lines = [
        f"  built in {built['seconds']:.1f} s, {built['processor_seconds']:.1f} s of one core{again}, texts given: "
        f"{built['seconds_a_million']:.1f} s a million (to reach {BUILD_SECONDS}); saved in {built['save_seconds']:.1f} s; "
        f"peak memory {built['peak_gib']:.1f} GiB",
        f"  opened in {opened['seconds']:.2f} s (to reach {OPEN_SECONDS}); first search {opened['first_search_seconds']:.2f} s",
        f"  {sum(sizes.values()) / 1e3:.3f} GB a million works (to reach {GB_A_MILLION}), of which ids {ids / 1e3:.3f}",
        f"    in MB: {arrays}",
        f"  of an opened index, after searches: {opened['own_bytes'] / MIB:.0f} MiB its own "
        f"({opened['own_bytes_at_open'] / MIB:.0f} when it was opened), {opened['mapped_bytes'] / MIB:.0f} MiB mapped",
    ]
    return "\n".join(lines)


def growth(results: Sequence[Mapping[str, Any]]) -> str:
    """Show the power of the number of works with which the cost grows, from each catalog to the next larger one."""
    lines = ["cost ~ works^power (1: linear), without floor"]
    for mode in dict.fromkeys(each["mode"] for each in results):
        mine = sorted((each for each in results if each["mode"] == mode), key=lambda each: each["works"])
        for way in ways(mine):
            costs = [(each["works"], way.cost(each["search"])) for each in mine]
            powers = [
                f"{math.log(after[1] / before[1]) / math.log(after[0] / before[0]):5.2f} ({before[0]:,} to {after[0]:,})"
                for before, after in pairwise(costs)
            ]
            if powers:
                lines.append(f"  {mode:5}{way.name():50}" + ", ".join(powers))
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Way:
    """A line of the plot: plain counting (``batch`` 0), or ``batch`` queries per call and ``k`` hits, no floor."""

    kind: str
    batch: int = 0
    k: int = 0

    def name(self) -> str:
        if not self.batch:
            return f"plain counting, {self.kind}"
        return f"{self.kind}, {'one a call' if self.batch == 1 else f'batches of {self.batch}'}, k = {self.k}"

    def cost(self, search: Mapping[str, Any]) -> float:
        """Return the mean in ms per query."""
        if not self.batch:
            return next(float(each["mean"]) for each in search["plain"] if each["kind"] == self.kind)
        wanted = (self.kind, None, self.k, self.batch)
        cells = ((each["mean"], (each["kind"], each["floor"], each["k"], each["batch"])) for each in search["ours"])
        return next(float(mean) for mean, cell in cells if cell == wanted)


def ways(results: Sequence[Mapping[str, Any]]) -> list[Way]:
    """Return the lines of batches that all results have."""
    batches = [batch for batch in (1, 64) if all(_has(result, batch) for result in results)]
    ours = [Way(kind, batch, k) for kind in (WITHOUT, WITH, SEEDED) for batch in batches for k in (1, 2)]
    return [Way(WITHOUT), Way(WITH), *ours]


def _three(each: Mapping[str, float]) -> str:
    return f"{each['mean']:>8.3f}{each['p50']:>8.3f}{each['p99']:>8.3f}"


def _cell(each: Mapping[str, float]) -> str:
    return f"{each['mean']:>10.3f}{each['p50']:>7.2f}{each['p99']:>7.2f}{each['ratio']:>6.1f}x"


def _has(result: Mapping[str, Any], batch: int) -> bool:
    return any(each["batch"] == batch for each in result["search"]["ours"])
