"""What settles references before the trigrams are asked: ``python -m benchmarks.settled --works W --references R``.

The linker's step alone, identifiers withheld, in the closed and in the open world: shares of references that place of print
or meaning links, that are said to be in no catalog, and that are left to the fallback.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson

from benchmarks.machine import describe
from reflink.catalog import Catalog
from reflink.encoders import Encodes
from reflink.entities import Reference
from reflink.evaluation.records import read_queries, read_works, without_identifiers
from reflink.evaluation.run import build_catalog, default_encoder, tracked
from reflink.evaluation.worlds import Groups
from reflink.linker import semantic_step
from reflink.policy import Open, Policy

_BATCH: Final = 256


def settled(references: Sequence[Reference], catalog: Catalog, encoder: Encodes | None, policy: Policy) -> dict[str, float]:
    """Share of the references by what settles them: a method, ``refused``, or ``fallback`` for those left open."""
    found: Counter[str] = Counter()
    for start in tracked(range(0, len(references), _BATCH), "linking"):
        for link in semantic_step(references[start : start + _BATCH], catalog, encoder, policy):
            found["fallback" if isinstance(link, Open) else link.method or "refused"] += 1
    return {what: round(count / len(references), 4) for what, count in sorted(found.items())}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.settled", description=__doc__)
    parser.add_argument("--works", type=Path, required=True, help="as for reflink evaluate --catalog")
    parser.add_argument("--references", type=Path, required=True, help="as for reflink evaluate")
    parser.add_argument("--cache", type=Path, default=Path(".cache/vectors"), help="vectors encoded before (.cache/vectors)")
    args = parser.parse_args(arguments)
    listings, encoder, policy = list(read_works(args.works)), default_encoder(args.cache), Policy()
    catalog = build_catalog([listing.work for listing in listings], encoder, policy)
    references = [without_identifiers(query.reference) for query in read_queries(args.references)]
    shares = {"closed": settled(references, catalog, encoder, policy)}
    catalog.remove(Groups.read(listings).removed())
    shares["open"] = settled(references, catalog, encoder, policy)
    print(orjson.dumps({"machine": describe(), **shares}, option=orjson.OPT_INDENT_2).decode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
