"""Measure the systems of the five papers beside reflink: the commands of docs/papers.md, one after another.

    python -m benchmarks.reproduction [--out .cache/papers] [--only 001 --only 004] [--list]

Each step writes its output to OUT/STEP.txt and its files beside it. A step that ended is skipped the next time; delete its .txt
file to measure it again. --only runs the steps of a paper, and before them the steps of any paper whose files they read. If a
step fails, only the steps that need it are left out; the exit code is then 1. The first run encodes 265,158 works in seven
modes for paper 000, which takes hours on a CPU; all later ones take the vectors from .cache/vectors.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import harness
from reflink.terminal import complain
from tests.data import jats_folder, shared_data

_PAPERS: Final = ("000", "001", "002", "003", "004")


@dataclass(frozen=True)
class Step:
    """One command. ``name``: the paper, then what is measured. ``stdout``: the file of its output; None: OUT/NAME.txt.

    ``needs``: the steps whose files it reads.
    """

    name: str
    command: tuple[str, ...]
    stdout: str | None = None
    needs: tuple[str, ...] = ()


def steps(data: Path, jats: Path, out: Path) -> Iterator[Step]:
    """Yield the steps in the order of the papers, each after those that it needs."""
    protocol = ("--catalog", f"{data / 'works.jsonl.gz'}", "--references", f"{data / 'references_dev.jsonl.gz'}")
    labels = (
        "--anystyle", f"{data / 'benchmarks/anystyle/core.xml.gz'}",
        "--grobid", f"{data / 'benchmarks/grobid_citation/citation_corpus.tar.gz'}",
        "--jats", f"{jats}", "--manifest", f"{data / 'MANIFEST.tsv'}",
    )  # fmt: skip

    def program(module: str, *arguments: str) -> tuple[str, ...]:
        return (sys.executable, "-m", module, *arguments)

    def reflink(*arguments: str) -> tuple[str, ...]:
        return program("reflink.cli", *arguments)

    def figures(name: str) -> tuple[str, str]:
        return "--json", f"{out / name}.json"

    yield Step(
        "000-tables", reflink("evaluate", *protocol, "--modes", "all", "--report", f"{out / '000-report'}", *figures("000"))
    )
    yield Step("000-profile", reflink("evaluate", *protocol, "--profile", "paper", *figures("000-profile")))
    yield Step("001-kdd", program("benchmarks.kdd", *figures("001-kdd"), "--", "--no-vectors"))
    yield Step(
        "001-siamese-training",
        program("reflink.evaluation.rivals.siamese.training", *protocol, "--out", f"{out / 'siamese'}", "--limit", "8000",
                "--epochs", "4"),
    )  # fmt: skip
    yield Step(
        "001-siamese",
        program("benchmarks.siamese", "--model", f"{out / 'siamese'}", "--shares", "most", *figures("001-siamese")),
        needs=("001-siamese-training",),
    )
    yield Step(
        "002-taggers-training",
        program("reflink.recognition.training", "--cross-validate", "--out", f"{out / 'taggers'}", *labels),
    )
    yield Step(
        "002-taggers",
        program("benchmarks.parsing.crossvalidation", f"{out / 'taggers'}", *figures("002-taggers")),
        needs=("002-taggers-training",),
    )
    yield Step(
        "002-cifal-training",
        program("reflink.recognition.cifal.training", "--out", f"{out / 'cifal'}", "--seeds", "1", "2", *labels),
    )
    yield Step(
        "002-cifal",
        program("benchmarks.parsing.cifal", f"{out / 'cifal'}", "--taggers", f"{out / 'taggers'}", *figures("002-cifal")),
        needs=("002-taggers-training", "002-cifal-training"),
    )
    for name, options in {
        "003-links": ("unarxive", "--fields-hidden"),
        "003-links-identifiers": ("unarxive", "--identifiers"),
        "004-links": ("s2orc", "--fields-hidden"),
        **{f"004-links-{threshold}": ("s2orc", "--threshold", threshold) for threshold in ("0.85", "0.9", "0.95")},
    }.items():
        yield Step(name, reflink("evaluate", *protocol, "--policy", *options, *figures(name)))
    catalog, links, parsed = (f"{out / name}" for name in ("catalog", "links.jsonl", "papers.jsonl"))
    contexts = f"{out / 'contexts.jsonl'}"
    yield Step("003-catalog", reflink("catalog", "build", protocol[1], "--no-vectors", "--out", catalog))
    yield Step("003-linked", reflink("link", f"{jats}", "--catalog", catalog, "--json"), links, ("003-catalog",))
    yield Step("003-contexts", reflink("contexts", f"{jats}", "--json"), contexts)
    yield Step(
        "003-statistics",
        reflink("evaluate", "statistics", links, "--contexts", contexts, "--plot", f"{out / '003-pictures'}"),
        needs=("003-linked", "003-contexts"),
    )
    yield Step("004-parsed", reflink("parse", f"{jats}", "--json"), parsed)
    sample = ("evaluate", "sample", links, "--references", parsed, "--catalog", protocol[1])
    yield Step(
        "004-agreement",
        reflink(*sample, "--size", "500", "--apart", "--agreement"),
        needs=("003-linked", "004-parsed"),
    )
    yield Step("004-merging", program("benchmarks.merging", "--data", f"{data}", *figures("004-merging")))


def chosen(made: Sequence[Step], papers: Sequence[str]) -> list[Step]:
    """Return the steps of the papers and those that they need, in order. ``made``: each after those that it needs."""
    wanted: set[str] = set()
    for step in reversed(made):
        if step.name.startswith(tuple(papers)) or step.name in wanted:
            wanted |= {step.name, *step.needs}
    return [step for step in made if step.name in wanted]


def run(step: Step, out: Path) -> bool:
    """Run a step unless its output is there; return whether it ended with exit code 0 or, for files with faults, 1."""
    done = out / f"{step.name}.txt"
    if done.exists():
        print(f"{step.name}: done before, {done}", flush=True)
        return True
    print(f"{step.name}: {' '.join(step.command)}", flush=True)
    partial, began = out / f"{step.name}.partial", time.monotonic()
    with partial.open("w") as text, open(step.stdout or os.devnull, "w") as own:
        code = subprocess.run(step.command, stdout=own if step.stdout else text, stderr=text).returncode
    # Some of the shared articles are no papers: the commands that read all of them say so, and end with 1.
    if code and not (code == 1 and step.stdout):
        complain(f"reproduction: {step.name} ended with {code}: see {partial}")
        return False
    partial.rename(done)
    print(f"{step.name}: {time.monotonic() - began:.0f} s, {done}", flush=True)
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Run the steps. Returns 1 if one failed."""
    parser = harness.parser(__doc__, figures=False)
    parser.add_argument("--out", type=Path, default=Path(".cache/papers"), help="folder of the results (.cache/papers)")
    parser.add_argument("--only", choices=_PAPERS, action="append", help="only this paper; may be repeated")
    parser.add_argument("--list", action="store_true", help="print the commands and run nothing")
    arguments = parser.parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    given = chosen(list(steps(shared_data(), jats_folder(), arguments.out)), arguments.only or _PAPERS)
    if arguments.list:
        print("\n".join(f"{step.name}: {' '.join(step.command)}" for step in given))
        return 0
    failed: set[str] = set()
    for step in given:
        if lacking := failed & {*step.needs}:
            complain(f"reproduction: {step.name} is not run: {', '.join(sorted(lacking))} failed")
            failed.add(step.name)
        elif not run(step, arguments.out):
            failed.add(step.name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
