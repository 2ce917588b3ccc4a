"""Which snapshots a worker may start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflink.catalog import Catalog, snapshot
from reflink.errors import SnapshotError
from workers.following import check_origin
from workers.settings import CatalogSettings

CLUSTER, TOPIC = "cluster", "reflink.catalog"


def aged(folder: Path, created: str) -> None:
    path = folder / snapshot.MANIFEST
    manifest = snapshot.read(folder).model_copy(update={"created": created})
    path.write_bytes(manifest.model_dump_json().encode())


def test_the_age_of_a_bound_snapshot_counts_from_binding_not_from_building(tmp_path: Path):
    folder = tmp_path / "catalog"
    Catalog.empty(lexical_mode=None).save(folder)
    aged(folder, "2020-01-01T00:00:00+00:00")
    snapshot.bind(folder, cluster=CLUSTER, topic=TOPIC, offset=0)
    settings = CatalogSettings(catalog_snapshot=folder)
    check_origin(Catalog.open(folder), CLUSTER, settings)
    aged(folder, "2020-01-01T00:00:00+00:00")
    with pytest.raises(SnapshotError, match="days old"):
        check_origin(Catalog.open(folder), CLUSTER, settings)
    with pytest.raises(SnapshotError, match="follows"):
        check_origin(Catalog.open(folder), "elsewhere", settings)
