"""The demo's catalog and papers, for tests."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Sequence
from pathlib import Path

from reflink.catalog import Catalog
from reflink.catalog.reading import read_works
from reflink.entities import Paper, Work
from reflink.errors import ReflinkError
from reflink.formats import Content, parse
from reflink.semantic import Encoder
from tests.data import ROOT
from workers.catalog.bulk_load import load_and_bind
from workers.config.settings import KafkaSettings

EXAMPLES = ROOT / "examples"


def example_works() -> list[Work]:
    """Return the works of the demo's catalog."""
    return [work for work in read_works(EXAMPLES / "works.jsonl") if isinstance(work, Work)]


def example_papers() -> dict[str, bytes]:
    """Return the decompressed papers of the demo by file name, including the invalid ones."""
    files = sorted(path for path in (EXAMPLES / "papers").rglob("*") if path.is_file())
    return {path.name: gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in files}


def parsed(papers: dict[str, bytes]) -> list[Paper]:
    """Return the valid papers, parsed."""
    found = []
    for name, data in papers.items():
        try:
            found += [each.paper for each in parse(Content(data, Path(name).stem))]
        except ReflinkError:
            continue
    return found


def catalog_works() -> list[Work]:
    """Return the demo's works and its papers' own works, so that the catalog does not change while workers link the papers."""
    return [*example_works(), *(paper.work() for paper in parsed(example_papers()))]


def make_snapshot(works: Sequence[Work], folder: Path) -> Path:
    """Make a catalog folder of the works, encoded in fp32 and bound to no topic. Return the folder."""
    encoder = Encoder(precision="fp32")
    catalog = Catalog.empty(dim=encoder.dim, model=encoder.name, precision=encoder.precision)
    catalog.add_encoded(works, encoder)
    catalog.save(folder)
    return folder


def loaded(works: Sequence[Work], snapshot: Path, kafka: KafkaSettings, folder: Path) -> Path:
    """Fill the catalog topic. Return a copy of the snapshot, bound to the topic."""
    copy = folder / f"snapshot-{kafka.topic_prefix}"
    shutil.copytree(snapshot, copy)
    latest = {work.id: work for work in works}
    load_and_bind(latest.values(), copy, kafka)
    return copy
