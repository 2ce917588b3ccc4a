"""Compare the orders of the two searches on one catalog: accuracy, and the share of references that are encoded.

    python -m benchmarks.linking.first_search --snapshot DIR [--works FILE] [--references FILE] [--json FILE]

The queries are those of the evaluation protocol, without their identifiers, each with a verdict that was not trained on its
paper. Two worlds: the whole catalog, and the catalog without the works that the open world removes. A query is absent if the
catalog has no work of its target's group, so a snapshot of a part of the works serves too. Rows:

    vectors first    the search of vectors, then trigrams for what it leaves open
    trigrams first   the search of trigrams, then vectors
    trigrams only    no vectors

"differ" counts the references with another link than with vectors first, "won" and "lost" those that become right or wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.machine import describe
from reflink.catalog import Catalog
from reflink.encoders import Encodes
from reflink.entities import Link, Reference
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.linking import link_held_out
from reflink.evaluation.records import read_queries, read_works, without_identifiers
from reflink.evaluation.worlds import Groups, settings_of
from reflink.linking.native import native_candidates
from reflink.linking.policy import First, Policy
from reflink.semantic import Encoder

#: The rows of a table: the first search, and whether there are vectors.
ORDERS: dict[str, tuple[First, bool]] = {
    "vectors first": ("vectors", True), "trigrams first": ("trigrams", True), "trigrams only": ("trigrams", False),
}  # fmt: skip


class Remembering:
    """An encoder that encodes each text once, and counts the texts that it is given."""

    def __init__(self, encoder: Encodes) -> None:
        self._encoder, self._vectors, self.texts = encoder, dict[str, Any](), 0

    def encode(self, texts: Sequence[str]) -> Any:
        """Return the vectors of the texts, [n, dim]."""
        self.texts += len(texts)
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            self._vectors.update(zip(new, np.asarray(self._encoder.encode(new)), strict=True))
        return np.stack([self._vectors[text] for text in texts])


def compare(
    references: Sequence[Reference], targets: Sequence[set[str]], catalog: Catalog, encoder: Remembering, judges: HeldOut
) -> dict[str, dict[str, float]]:
    """Return the figures of each order. ``targets``: for each reference, the ids of right works; empty: absent."""
    figures: dict[str, dict[str, float]] = {}
    first: list[Link] = []
    sound: list[bool] = []
    for name, (order, vectors) in ORDERS.items():
        policy, encoder.texts = Policy(first=order), 0
        source = native_candidates(catalog, policy, encoder if vectors else None)
        links = link_held_out(references, source, policy, judges, name)
        right = [link.cited in wanted for link, wanted in zip(links, targets, strict=True)]
        made, present = sum(link.cited is not None for link in links), sum(map(bool, targets))
        false = sum(link.cited is not None and not wanted for link, wanted in zip(links, targets, strict=True))
        fine = [hit or (not wanted and link.cited is None) for hit, link, wanted in zip(right, links, targets, strict=True)]
        first, sound = first or links, sound or fine
        figures[name] = {
            "encoded": encoder.texts / len(references),
            "precision": sum(right) / max(made, 1),
            "recall": sum(right) / max(present, 1),
            "false": false,
            "absent": len(references) - present,
            "differ": sum(a.cited != b.cited for a, b in zip(first, links, strict=True)),
            "won": sum(now and not before for now, before in zip(fine, sound, strict=True)),
            "lost": sum(before and not now for now, before in zip(fine, sound, strict=True)),
        }
    return figures


def show(name: str, figures: dict[str, dict[str, float]]) -> None:
    """Print the table of one world."""
    print(f"{name:<16} {'encoded':>8} {'precision':>10} {'recall':>8} {'false links':>14} {'differ':>7} {'won':>4} {'lost':>5}")
    for order, each in figures.items():
        false = f"{each['false']:.0f} of {each['absent']:.0f}"
        print(
            f"{order:<16} {each['encoded']:>8.2%} {each['precision']:>10.3%} {each['recall']:>8.3%} {false:>14} "
            f"{each['differ']:>7.0f} {each['won']:>4.0f} {each['lost']:>5.0f}"
        )
    print(flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    harness.add_protocol(parser)
    parser.add_argument("--snapshot", type=Path, required=True, help="a catalog with vectors and trigrams")
    arguments = parser.parse_args(argv)
    groups = Groups.read(list(read_works(arguments.works)))
    queries = list(read_queries(arguments.references))
    references = [without_identifiers(query.reference) for query in queries]
    catalog = Catalog.open(arguments.snapshot)
    encoder, judges = Remembering(Encoder()), HeldOut.shipped()
    print(f"{len(catalog):,} works, {len(queries):,} queries; {describe()}\n", flush=True)
    found: dict[str, Any] = {"works": len(catalog), "queries": len(queries)}
    for setting in settings_of(["closed", "open"], None, shares=False):
        catalog.remove(groups.lacking(setting))
        same = [{catalog.canonical(id_) for id_ in groups.same(query.truth) if id_ in catalog} for query in queries]
        found[setting.name] = compare(references, same, catalog, encoder, judges)
        show(setting.name, found[setting.name])
    harness.save(arguments.json, found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
