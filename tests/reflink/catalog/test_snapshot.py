from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflink.catalog import Catalog, Manifest, snapshot
from reflink.errors import SnapshotError
from tests.reflink.catalog.works_of import refusal, saved_catalog, work


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return saved_catalog(tmp_path / "catalog")


@pytest.fixture(params=[True, False])
def _exchange(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test on a file system that exchanges two folders in one step, and on one that cannot."""
    if not request.param:
        monkeypatch.setattr(snapshot, "_exchange", lambda first, second: False)


def foreign(folder: Path, meta: str | None = None) -> Path:
    """A folder that is not a snapshot."""
    folder.mkdir()
    (folder / "thesis.tex").write_text("years")
    if meta is not None:
        (folder / "meta.json").write_text(meta)
    return folder


def test_a_missing_folder_and_a_folder_without_a_manifest_are_distinguished(tmp_path: Path) -> None:
    assert "no such folder" in refusal(tmp_path / "absent", Catalog.open)
    assert "no meta.json" in refusal(tmp_path, Catalog.open)


@pytest.mark.parametrize("meta", ["{}x", "{}", '{"format": 1}'])
def test_a_foreign_folder_is_never_replaced(tmp_path: Path, meta: str) -> None:
    folder = foreign(tmp_path / "precious", meta)
    with pytest.raises(SnapshotError, match="not replaced"):
        Catalog.empty().save(folder)
    assert (folder / "thesis.tex").read_text() == "years"


def test_a_foreign_folder_is_not_replaced_as_the_previous_snapshot(saved: Path) -> None:
    foreign(snapshot.previous(saved))
    with pytest.raises(SnapshotError, match="not replaced"):
        Catalog.empty().save(saved)
    assert len(Catalog.open(saved)) == 20


def test_a_failure_while_writing_keeps_the_old_snapshot_and_leaves_no_files(saved: Path) -> None:
    def fill() -> None:
        with snapshot.publish(saved, Manifest()) as new:
            (new / "works").mkdir()
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fill()
    assert os.listdir(saved.parent) == ["catalog"]
    assert len(Catalog.open(saved)) == 20


def test_files_of_a_killed_writer_are_removed(saved: Path) -> None:
    left = saved.with_name(".catalog.new")
    (left / "works").mkdir(parents=True)
    (left / "meta.json").write_text("half")
    saved.with_name(".catalog.lock").touch()
    Catalog.empty().save(saved, keep_previous=False)
    assert len(Catalog.open(saved)) == 0
    assert os.listdir(saved.parent) == ["catalog"]


def test_a_second_writer_is_refused(saved: Path) -> None:
    with snapshot.publish(saved, Manifest()), pytest.raises(SnapshotError, match="another process"):
        Catalog.empty().save(saved)
    assert sorted(os.listdir(saved.parent)) == ["catalog", "catalog.previous"]


@pytest.mark.usefixtures("_exchange")
def test_a_snapshot_replaces_another(saved: Path) -> None:
    before = Catalog.open(saved)
    other = Catalog.empty()
    other.add([work("only")])
    other.save(saved)
    assert [each.id for each in Catalog.open(saved)] == ["only"]
    assert len(list(before)) == 20, "a reader that has opened the old snapshot continues to read it"
    assert sorted(os.listdir(saved.parent)) == ["catalog", "catalog.previous"]
    assert len(Catalog.open(snapshot.previous(saved), verify=True)) == 20
    Catalog.empty().save(saved)
    assert [each.id for each in Catalog.open(snapshot.previous(saved))] == ["only"], "the last replaced snapshot alone"
    Catalog.empty().save(saved, keep_previous=False)
    assert os.listdir(saved.parent) == ["catalog"]


@pytest.mark.usefixtures("_exchange")
def test_a_damaged_snapshot_does_not_replace_the_previous_one(saved: Path) -> None:
    Catalog.empty().save(saved)
    (saved / "trigrams" / "sizes.npy").unlink()
    Catalog.empty().save(saved)
    assert len(Catalog.open(saved)) == 0
    assert len(Catalog.open(snapshot.previous(saved))) == 20
