from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflink.catalog import Catalog, Manifest, snapshot
from reflink.errors import SnapshotError
from tests.reflink.catalog.works_of import DIM, FakeEncoder, work


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    catalog = Catalog.empty(dim=DIM, model="fake@1", precision="fp32")
    catalog.add_encoded([work(f"w{n}", f"Title number {n}", pmid=str(n + 1)) for n in range(20)], FakeEncoder())
    catalog.save(tmp_path / "catalog")
    return tmp_path / "catalog"


def refusal(folder: Path) -> str:
    with pytest.raises(SnapshotError) as caught:
        Catalog.open(folder)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_every_missing_or_cut_file_is_noticed_at_opening(saved: Path) -> None:
    names = [*Catalog.open(saved).manifest.files, "meta.json"]
    assert {name.split("/")[0] for name in names} == {"works", "vectors", "trigrams", "texts", "meta.json"}
    for name in names:
        path = saved / name
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        assert str(saved) in refusal(saved)
        path.unlink()
        refusal(saved)
        path.write_bytes(content)
    assert len(Catalog.open(saved)) == 20


@pytest.mark.parametrize("meta", [b"", b"{", b"[]", b'{"kind": "other"}', b'{"format": 99}', b'{"works": "many"}', b"\xff"])
def test_foreign_manifests_are_refused(saved: Path, meta: bytes) -> None:
    (saved / "meta.json").write_bytes(meta)
    refusal(saved)


def test_counts_must_agree(saved: Path) -> None:
    (saved / "meta.json").write_bytes(snapshot.read(saved).model_copy(update={"works": 19}).to_bytes())
    assert "20 works, not 19" in refusal(saved)


def test_nothing_and_something_else_are_told_apart(tmp_path: Path) -> None:
    assert "no such folder" in refusal(tmp_path / "absent")
    assert "no meta.json" in refusal(tmp_path)


@pytest.mark.parametrize("meta", ["{}x", "{}", '{"format": 1}'])
def test_a_folder_of_something_else_is_never_replaced(tmp_path: Path, meta: str) -> None:
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years")
    (folder / "meta.json").write_text(meta)
    with pytest.raises(SnapshotError, match="not replaced"):
        Catalog.empty().save(folder)
    assert (folder / "thesis.tex").read_text() == "years"


def test_a_failure_while_writing_leaves_the_old_snapshot_and_no_debris(saved: Path) -> None:
    def fill() -> None:
        with snapshot.publish(saved, Manifest()) as new:
            (new / "works").mkdir()
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fill()
    assert os.listdir(saved.parent) == ["catalog"]
    assert len(Catalog.open(saved)) == 20


def test_what_a_killed_writer_left_is_cleared(saved: Path) -> None:
    left = saved.with_name(".catalog.new")
    (left / "works").mkdir(parents=True)
    (left / "meta.json").write_text("half")
    saved.with_name(".catalog.lock").touch()
    Catalog.empty().save(saved, keep_previous=False)
    assert len(Catalog.open(saved)) == 0
    assert os.listdir(saved.parent) == ["catalog"]


def test_two_writers_do_not_meet(saved: Path) -> None:
    with snapshot.publish(saved, Manifest()), pytest.raises(SnapshotError, match="another process"):
        Catalog.empty().save(saved)
    assert sorted(os.listdir(saved.parent)) == ["catalog", "catalog.previous"]


@pytest.mark.parametrize("in_one_step", [True, False])
def test_a_snapshot_replaces_another(saved: Path, monkeypatch: pytest.MonkeyPatch, in_one_step: bool) -> None:
    if not in_one_step:
        monkeypatch.setattr(snapshot, "_exchange", lambda first, second: False)
    before = Catalog.open(saved)
    other = Catalog.empty()
    other.add([work("only")])
    other.save(saved)
    assert [one.id for one in Catalog.open(saved)] == ["only"]
    assert len(list(before)) == 20, "who has the old one open goes on reading it"
    assert sorted(os.listdir(saved.parent)) == ["catalog", "catalog.previous"]
    assert len(Catalog.open(snapshot.previous(saved), verify=True)) == 20
    Catalog.empty().save(saved)
    assert [one.id for one in Catalog.open(snapshot.previous(saved))] == ["only"], "one previous, the last"
    Catalog.empty().save(saved, keep_previous=False)
    assert os.listdir(saved.parent) == ["catalog"]


@pytest.mark.parametrize("in_one_step", [True, False])
def test_a_damaged_snapshot_does_not_push_the_previous_out(
    saved: Path, monkeypatch: pytest.MonkeyPatch, in_one_step: bool
) -> None:
    if not in_one_step:
        monkeypatch.setattr(snapshot, "_exchange", lambda first, second: False)
    Catalog.empty().save(saved)
    (saved / "trigrams" / "sizes.npy").unlink()
    Catalog.empty().save(saved)
    assert len(Catalog.open(saved)) == 0
    assert len(Catalog.open(snapshot.previous(saved))) == 20


def test_something_else_is_no_previous_snapshot(saved: Path) -> None:
    snapshot.previous(saved).mkdir()
    (snapshot.previous(saved) / "thesis.tex").write_text("years")
    with pytest.raises(SnapshotError, match="not replaced"):
        Catalog.empty().save(saved)
    assert len(Catalog.open(saved)) == 20
