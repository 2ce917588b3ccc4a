"""The examples, for tests."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Sequence
from pathlib import Path

from reflink import jats
from reflink.catalog import Catalog
from reflink.catalog.reading import read_works
from reflink.entities import Paper, Work
from reflink.errors import ReflinkError
from reflink.semantic import Encoder
from tests.data import ROOT
from workers.loading import load_and_bind
from workers.settings import KafkaSettings

EXAMPLES = ROOT / "examples"


def example_works() -> list[Work]:
    """The catalog of the demo."""
    return [work for work in read_works(EXAMPLES / "works.jsonl") if isinstance(work, Work)]


def example_papers() -> dict[str, bytes]:
    """The papers of the demo by file name, the poisonous ones too."""
    files = sorted(path for path in (EXAMPLES / "papers").rglob("*") if path.is_file())
    return {path.name: gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in files}


def parsed(papers: dict[str, bytes]) -> list[Paper]:
    """Those that are papers."""
    found = []
    for name, data in papers.items():
        try:
            found.append(jats.parse(data, source=Path(name).stem))
        except ReflinkError:
            continue
    return found


def catalog_works() -> list[Work]:
    """The demo's catalog and its papers' own works: so what workers follow does not change while they link them."""
    return [*example_works(), *(paper.work() for paper in parsed(example_papers()))]


def make_snapshot(works: Sequence[Work], folder: Path) -> Path:
    """A catalog folder of the works, encoded in fp32, bound to no topic."""
    encoder = Encoder(precision="fp32")
    catalog = Catalog.empty(dim=encoder.dim, model=encoder.name, precision=encoder.precision)
    catalog.add_encoded(works, encoder)
    catalog.save(folder)
    return folder


def loaded(works: Sequence[Work], snapshot: Path, kafka: KafkaSettings, folder: Path) -> Path:
    """Fills the catalog topic; returns a copy of the snapshot that is bound to it."""
    copy = folder / f"snapshot-{kafka.topic_prefix}"
    shutil.copytree(snapshot, copy)
    latest = {work.id: work for work in works}
    load_and_bind(latest.values(), copy, kafka)
    return copy
