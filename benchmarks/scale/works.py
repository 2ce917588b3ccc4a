"""Write a large catalog: the real works, then works made from them.

    python -m benchmarks.scale.works --works 5000000 --out works.jsonl.gz [--seed 1] [--near 0.25] [--real FILE] [--made FILE]

The real works come first, line by line as in their file. Two kinds of works follow, in the stated shares: near-duplicates of
real works, which are wrong candidates for references to these (near.py: each kind equally often), and works recombined from the
parts of real ones (splicing.py). Added works have identifiers of their own: DOIs under the prefix for examples 10.5555, or
preprint servers' numbers that these never assign (a thirteenth month), and for half of the other works a PMID that is not
assigned yet. No added work has an identifier of a real one, or the volume, first page and year of one.

The side file, default OUT with ``.made`` before its endings, names for each added work its kind and the real works that it was
made from; the catalog does not. Same real works, seed and share: same works, and a smaller catalog is the beginning of a larger
one. Memory: the real works. Files are compressed if they end with ``.gz``.
"""

from __future__ import annotations

import gzip
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from random import Random
from typing import IO, Any, Final, NamedTuple, cast

import orjson
from isal import igzip
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks import harness
from benchmarks.machine import describe
from benchmarks.scale.near import KINDS
from benchmarks.scale.real import Pool
from benchmarks.scale.splicing import RECOMBINED, recombined
from reflink.entities import Work
from reflink.evaluation.records import read_works, work_of
from reflink.terminal import Terminal
from tests.data import find_shared_data

NEAR: Final = 0.25
_WITH_PMID: Final = 0.5
#: Maximum number of added works: a PMID has at most 8 digits.
MAX_ADDED: Final = 50_000_000
_FIRST_PMID: Final = 50_000_000
_STEP: Final = 5_000
#: isal's level of compression. zlib would take most of the time.
_LEVEL: Final = 2


class Added(NamedTuple):
    """An added work: its record as a line of the catalog has it, its kind, and the ids of the works it was made from.

    ``of``: of a near-duplicate the work that it is near to; of a recombined one those of title, authors, and year with volume.
    """

    record: dict[str, Any]
    kind: str
    of: tuple[str, ...]

    def work(self) -> Work:
        """Return the record as a work."""
        return work_of(self.record)


def added(pool: Pool, count: int, seed: int = 1, near: float = NEAR) -> Iterator[Added]:
    """Yield ``count`` works made from the real ones, a share ``near`` of which are near-duplicates.

    Raises ValueError if the share is not in [0, 1], or if there are more works than identifiers.
    """
    if not 0 <= near <= 1:
        raise ValueError(f"the share of near-duplicates must be in [0, 1], not {near}")
    if count > MAX_ADDED:
        raise ValueError(f"at most {MAX_ADDED:,} works can be added, not {count:,}")
    random, kinds, made = Random(seed), list(KINDS), 0
    for number in range(count):
        if int((number + 1) * near) == made:
            record, of = recombined(pool, random)
            kind = RECOMBINED
        else:
            kind = kinds[made % len(kinds)]
            record, of = _near(pool, random, kind)
            made += 1
        doi, arxiv = _preprint(record, made // len(kinds)) if kind == "preprint" else (None, None)
        pmid = str(_FIRST_PMID + number) if random.random() < _WITH_PMID and not doi else None
        doi = doi or f"10.5555/s{seed}.{number:07d}w"  # a number at the end of a DOI would be an article number
        given = {"id": f"doi:{doi}", "doi": doi, "pmid": pmid, "arxiv": arxiv, **record}
        yield Added({name: value for name, value in given.items() if value is not None}, kind, of)


def _near(pool: Pool, random: Random, kind: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    make = KINDS[kind]
    while True:
        real = pool.any(random)
        if (record := make(pool, random, real)) is not None:
            return record, (real.id,)


def _preprint(record: dict[str, Any], number: int) -> tuple[str, str | None]:
    """Return the DOI of a preprint in the form of its server, and the arXiv id if it is arXiv's."""
    year = record["year"]
    if not record["venue"].startswith("arXiv"):
        return f"10.1101/{year}.13.{number % 28 + 1:02d}.{number:08d}", None
    arxiv = f"{year % 100:02d}{13 + number // 100_000}.{number % 100_000:05d}"
    return f"10.48550/arxiv.{arxiv}", arxiv


def write(real: Path, out: Path, made: Path, count: int, seed: int = 1, near: float = NEAR) -> dict[str, float]:
    """Write ``count`` works and the side file; return numbers of works, and works a second of the added ones.

    Raises ValueError if there are more real works than ``count``, and as ``added`` does; BadRecord if ``real`` is damaged.
    """
    pool = Pool(listing.work for listing in read_works(real))
    if pool.size > count:
        raise ValueError(f"there are {pool.size:,} real works, more than the {count:,} of the catalog")
    wanted = count - pool.size
    with ExitStack() as files:
        into, beside = files.enter_context(_created(out)), files.enter_context(_created(made))
        for line in files.enter_context(_opened(real)):
            if line.strip():
                into.write(line if line.endswith(b"\n") else line + b"\n")
        began = time.perf_counter()
        source = added(pool, wanted, seed, near)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Terminal(stderr=True)) as progress:
            task = progress.add_task("adding works", total=wanted)
            while part := list(islice(source, _STEP)):
                into.write(b"".join(orjson.dumps(each.record, option=orjson.OPT_APPEND_NEWLINE) for each in part))
                beside.write(b"".join(_origin(part)))
                progress.advance(task, len(part))
    seconds = time.perf_counter() - began
    return {"real": pool.size, "added": wanted, "works_per_second": round(wanted / seconds)}


def _origin(part: Iterable[Added]) -> Iterator[bytes]:
    for each in part:
        line = {"id": each.record["id"], "kind": each.kind, "of": each.of}
        yield orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def _created(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast("IO[bytes]", igzip.IGzipFile(path, "wb", compresslevel=_LEVEL, mtime=0))  # type: ignore[no-untyped-call]
    return path.open("wb")


def _opened(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def side_file(catalog: Path) -> Path:
    """Return the default path of the side file of a catalog: ``works.made.jsonl.gz`` of ``works.jsonl.gz``."""
    stem, _, endings = catalog.name.partition(".")
    return catalog.with_name(f"{stem}.made.{endings or 'jsonl'}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    shared = find_shared_data()
    real = shared and shared / "works.jsonl.gz"
    parser.add_argument("--works", type=int, required=True, help="works of the catalog, the real ones included")
    parser.add_argument("--out", type=Path, required=True, help="the catalog")
    parser.add_argument("--made", type=Path, metavar="FILE", help="the side file (default: OUT with .made)")
    parser.add_argument("--seed", type=int, default=1, help="of all draws (default %(default)s)")
    parser.add_argument("--near", type=float, default=NEAR, help="share of near-duplicates (default %(default)s)")
    parser.add_argument("--real", type=Path, default=real, required=real is None, help="default: the shared data's")
    arguments = parser.parse_args(argv)
    made = arguments.made or side_file(arguments.out)
    try:
        written = write(arguments.real, arguments.out, made, arguments.works, arguments.seed, arguments.near)
    except ValueError as error:
        parser.error(str(error))
    print(
        f"{describe()}\n{arguments.out}: {written['real']:,} real works, {written['added']:,} added, "
        f"{written['works_per_second']:,} a second; {made} names their origins"
    )
    harness.save(arguments.json, written)
    return 0


if __name__ == "__main__":
    sys.exit(main())
