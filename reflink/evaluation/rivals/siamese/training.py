"""Trains the network: ``python -m reflink.evaluation.rivals.siamese.training --catalog WORKS --references REFS --out FOLDER``.

Each version of the paper's Table 5.6 is a folder of its own under FOLDER: ``weights.npz``, and ``about.json`` with the words
and the losses. Both are written after each pass that lowers the validation loss, so that an interrupted training leaves its
best pass. One thread and a fixed seed: the same input gives the same weights.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple

import orjson
import torch

from reflink.entities import Reference, Work
from reflink.evaluation.linking import tracked
from reflink.evaluation.records import Listing, Query, lines, work_of
from reflink.evaluation.rivals.siamese.network import Network, cross_entropy, distance
from reflink.evaluation.rivals.siamese.pairs import Batch, Example, batches, is_in_first_half, read_known, select
from reflink.evaluation.rivals.siamese.texts import Vocabulary, citation_tokens, extracted_names, metadata_tokens
from reflink.evaluation.worlds import Groups
from reflink.storage import durable

#: Step size of papers/001 section 5.1.
RATE: Final = 1e-3
#: Training stops after this number of passes without a lower validation loss.
PATIENCE: Final = 2
SEED: Final = 1
WEIGHTS: Final = "weights.npz"
ABOUT: Final = "about.json"


class Version(NamedTuple):
    """A version of the network. ``authors``: keep the authors in both texts; ``several``: several negatives of each positive;
    ``half``: learn from the works of one half of the journals only.
    """

    authors: bool = False
    several: bool = False
    half: bool = False


#: The versions of Table 5.6 by name.
VERSIONS: Final = {
    "kept": Version(authors=True), "removed": Version(), "several": Version(several=True), "half": Version(half=True),
}  # fmt: skip


@dataclass(frozen=True)
class Epoch:
    """Losses of one pass, and the seconds from the start to its end."""

    training: float
    validation: float
    seconds: float


def tokens_of(reference: Reference, work: Work, *, authors: bool) -> tuple[list[str], list[str], frozenset[str]]:
    """Return the tokens of the metadata and of the citation, and the citation's last names."""
    names = extracted_names(reference)
    return metadata_tokens(work, authors=authors), citation_tokens(reference, () if authors else names), names


def examples_of(
    queries: Sequence[Query], works: Mapping[str, Work], groups: Groups, version: Version, vocabulary: Vocabulary | None = None
) -> tuple[list[Example], Vocabulary]:
    """Return an example of each reference whose work is in ``works``, and the vocabulary, by default that of these texts."""
    texts = [
        (tokens_of(query.reference, works[query.truth], authors=version.authors), groups.of.get(query.truth, query.truth))
        for query in tracked(queries, "reading citations")
        if query.truth in works
    ]
    known = vocabulary or Vocabulary.of(side for (metadata, citation, _), _ in texts for side in (metadata, citation))
    return [
        Example(known.numbers(metadata), known.numbers(citation), group, names)
        for (metadata, citation, names), group in texts
    ], known  # fmt: skip


def fit(
    network: Network,
    examples: Sequence[Example],
    validation: Sequence[Example],
    *,
    several: bool,
    epochs: int,
    write: Callable[[list[Epoch]], None] = lambda passes: None,
) -> list[Epoch]:
    """Train the network in place, at most ``epochs`` passes; keep the weights of the pass with the lowest validation loss.

    ``write`` is called after each pass with a lower validation loss, when the network has these weights.
    """
    torch.manual_seed(SEED)
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    began, passes = monotonic(), list[Epoch]()
    best: dict[str, Any] = copy.deepcopy(network.state_dict())
    for number in range(epochs):
        network.train()
        losses = []
        for batch in tracked(list(batches(examples, several, SEED + number)), f"pass {number + 1}"):
            optimiser.zero_grad()
            loss = _loss(network, batch)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            losses.append((loss.item(), len(batch.pairs)))
        passes.append(Epoch(_mean(losses), validation_loss(network, validation, several=several), monotonic() - began))
        lowest = min(range(len(passes)), key=lambda at: passes[at].validation)
        if lowest == number:
            best = copy.deepcopy(network.state_dict())
            write(passes)
        elif number - lowest >= PATIENCE:
            break
    network.load_state_dict(best)
    network.eval()
    return passes


def validation_loss(network: Network, examples: Sequence[Example], *, several: bool) -> float:
    """Return the mean cross-entropy of the pairs of ``examples``, always the same pairs, without dropout."""
    network.eval()
    with torch.no_grad():
        return _mean([(_loss(network, batch).item(), len(batch.pairs)) for batch in batches(examples, several, SEED)])


def _loss(network: Network, batch: Batch) -> torch.Tensor:
    vectors = network([*batch.metadata, *batch.citations])
    one, other, labels = torch.tensor(batch.pairs).T
    return cross_entropy(distance(vectors[one], vectors[len(batch.metadata) + other]), labels)


def _mean(losses: Sequence[tuple[float, int]]) -> float:
    return sum(loss * pairs for loss, pairs in losses) / max(sum(pairs for _, pairs in losses), 1)


def train(
    version: Version, known: Sequence[Query], works: Mapping[str, Work], groups: Groups, *, limit: int, epochs: int, out: Path
) -> list[Epoch]:
    """Train a version on at most ``limit`` references and write it to the folder ``out``. Returns the losses of all passes."""
    began = monotonic()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)

    def keep(query: Query) -> bool:
        return query.truth in works and (not version.half or is_in_first_half(works[query.truth].venue))

    parts = select(known, groups, limit, keep)
    examples, vocabulary = examples_of(parts["training"], works, groups, version)
    validation, _ = examples_of(parts["validation"], works, groups, version, vocabulary)
    network = Network(len(vocabulary))
    out.mkdir(parents=True, exist_ok=True)

    def write(passes: list[Epoch]) -> None:
        network.write(out / WEIGHTS)
        about = {
            "version": version._asdict(), "references": len(examples), "validation": len(validation), "epochs": passes,
            "seconds": round(monotonic() - began, 1), "words": vocabulary.words,
        }  # fmt: skip
        durable.write(out / ABOUT, orjson.dumps(about, option=orjson.OPT_INDENT_2))

    return fit(network, examples, validation, several=version.several, epochs=epochs, write=write)


def read_cited(path: Path, ids: Collection[str]) -> Iterator[Listing]:
    """Yield the works of the file whose id is in ``ids``; the others are not validated. Raises BadRecord."""
    for _, data in lines(path):
        if data.get("id") in ids:
            work = work_of(data)
            yield Listing(work, data.get("title_group") or work.id)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description="Trains the Siamese network.")
    parser.add_argument("--catalog", type=Path, required=True, metavar="WORKS", help="as for reflink evaluate")
    parser.add_argument("--references", type=Path, required=True, metavar="REFS", help="as for reflink evaluate")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="a folder for each version is made in it")
    parser.add_argument("--versions", default=",".join(VERSIONS), help="versions to train (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=16_000, help="maximum references to learn from (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=8, help="maximum passes (default: %(default)s)")
    args = parser.parse_args(arguments)
    names = args.versions.split(",")
    if unknown := [name for name in names if name not in VERSIONS]:
        parser.error(f"unknown version {unknown[0]!r}: expected some of {', '.join(VERSIONS)}")
    known = list(read_known(args.references))
    listings = list(read_cited(args.catalog, {query.truth for query in known}))
    groups, works = Groups.read(listings), {listing.work.id: listing.work for listing in listings}
    for name in names:
        out = args.out / name
        for number, epoch in enumerate(
            train(VERSIONS[name], known, works, groups, limit=args.limit, epochs=args.epochs, out=out), 1
        ):
            print(
                f"{name}: pass {number}, training loss {epoch.training:.4f}, validation loss {epoch.validation:.4f}, "
                f"{epoch.seconds:.0f} s",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
