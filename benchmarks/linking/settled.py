"""Measure which references are settled before the trigram search.

    python -m benchmarks.linking.settled --works W --references R

Runs the linker's step alone, identifiers withheld, in the closed and in the open world: shares of references that locator or
vector search links, that are decided to be in no catalog, and that are left to the fallback.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson

from benchmarks import harness
from benchmarks.machine import describe
from reflink.catalog import Catalog
from reflink.encoders import Encodes
from reflink.entities import Reference
from reflink.evaluation.linking import tracked
from reflink.evaluation.records import read_queries, read_works, without_identifiers
from reflink.evaluation.run import build_catalog, default_encoder
from reflink.evaluation.worlds import Groups
from reflink.linking.linker import semantic_step
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Open, Policy

_BATCH: Final = 256


def settled(references: Sequence[Reference], catalog: Catalog, encoder: Encodes | None, policy: Policy) -> dict[str, float]:
    """Return the share of the references by how they are settled: a method, ``refused``, or ``fallback`` (left open)."""
    found: Counter[str] = Counter()
    for start in tracked(range(0, len(references), _BATCH), "linking"):
        for link in semantic_step(references[start : start + _BATCH], NativeCandidates(catalog, encoder), policy):
            found["fallback" if isinstance(link, Open) else link.method or "refused"] += 1
    return {what: round(count / len(references), 4) for what, count in sorted(found.items())}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = harness.parser(__doc__, figures=False)
    harness.add_protocol(parser)
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
