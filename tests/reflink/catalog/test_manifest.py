"""A snapshot with a changed byte, or with a cut, missing, additional or exchanged file, is refused."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.catalog import Catalog, snapshot
from reflink.catalog.manifest import Manifest
from reflink.errors import UnusableSnapshot
from tests.profiles import examples
from tests.reflink.catalog import works_of
from tests.reflink.catalog.works_of import saved_catalog, work


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot with all indexes. A test that changes it restores it."""
    return saved_catalog(tmp_path_factory.mktemp("saved") / "catalog")


@pytest.fixture
def copied(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "catalog"))


def names_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def refusal(folder: Path) -> str:
    message = works_of.refusal(folder, snapshot.verify)
    assert "again" in message, "the message states the remedy"
    return message


def test_a_saved_catalog_is_accepted(saved: Path) -> None:
    manifest = snapshot.verify(saved)
    assert {name.split("/")[0] for name in manifest.files} == {"works", "vectors", "trigrams", "texts", "journals"}
    assert {*manifest.files, "meta.json"} == set(names_of(saved))
    assert all(len(file.sha256) == 64 for file in manifest.files.values())
    assert len(Catalog.open(saved, verify=True)) == 20


@settings(max_examples=examples(260))
@given(st.data())
def test_a_changed_byte_and_a_changed_length_are_refused(saved: Path, data: st.DataObject) -> None:
    path = saved / data.draw(st.sampled_from(names_of(saved)))
    content = path.read_bytes()
    at = data.draw(st.integers(0, len(content) - 1))
    bits = data.draw(st.sampled_from([1 << bit for bit in range(8)]) | st.integers(1, 255))
    byte = bytes([content[at] ^ bits]) + content[at + 1 :]
    path.write_bytes(content[:at] + data.draw(st.sampled_from([byte, byte, b"", content[at:] * 2])))
    try:
        assert path.relative_to(saved).as_posix() in refusal(saved)
    finally:
        path.write_bytes(content)


def test_a_missing_file_and_a_cut_file_are_refused_also_without_checksums(copied: Path) -> None:
    for name in names_of(copied):
        path = copied / name
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        assert str(copied) in works_of.refusal(copied, Catalog.open)
        path.unlink()
        assert name in refusal(copied)
        assert str(copied) in works_of.refusal(copied, Catalog.open)
        path.write_bytes(content)
    assert len(Catalog.open(copied, verify=True)) == 20


def test_exchanged_files_are_refused(copied: Path) -> None:
    names = [name for name in names_of(copied) if name != "meta.json"]
    for first, second in itertools.pairwise(names):
        contents = (copied / first).read_bytes(), (copied / second).read_bytes()
        if contents[0] == contents[1]:
            continue
        (copied / first).write_bytes(contents[1])
        (copied / second).write_bytes(contents[0])
        assert first in (message := refusal(copied)) or second in message
        (copied / first).write_bytes(contents[0])
        (copied / second).write_bytes(contents[1])


@pytest.mark.parametrize("name", ["more.npy", "works/more.npy", "other/more"])
def test_an_additional_file_is_refused(copied: Path, name: str) -> None:
    (copied / name).parent.mkdir(exist_ok=True)
    (copied / name).write_bytes(b"")
    assert name in refusal(copied)


def test_files_of_a_file_system_or_of_a_killed_writer_are_ignored(copied: Path) -> None:
    (copied / ".nfs0001").touch()
    (copied / "meta.json.new").write_text("{")
    snapshot.verify(copied)


def test_the_manifest_of_another_snapshot_is_refused(copied: Path, tmp_path: Path) -> None:
    other = Catalog.empty(lexical_mode=None)
    other.add([work("a")])
    other.save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "meta.json", copied)
    refusal(copied)


@pytest.mark.parametrize(
    "meta",
    [b"", b"{", b"[]", b"{}", b'{"kind": "other"}', b'{"format": 1}', b'{"works": "many"}', b"\xff"],
)
def test_a_file_that_is_not_a_manifest_is_refused(copied: Path, meta: bytes) -> None:
    (copied / "meta.json").write_bytes(meta)
    refusal(copied)


def test_another_format_and_another_number_of_works_are_refused(copied: Path) -> None:
    (copied / "meta.json").write_bytes(snapshot.read(copied).model_copy(update={"works": 19}).to_bytes())
    assert "20 works, not 19" in works_of.refusal(copied, Catalog.open)
    for number in (0, 1, 3):
        (copied / "meta.json").write_bytes(Manifest(format=number).to_bytes())
        assert f"format is {number}, this reflink reads 2" in refusal(copied)


def test_checksums_are_compared_for_the_opened_parts_alone(copied: Path) -> None:
    path = copied / "vectors" / "vectors.npy"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    Catalog.open(copied, vectors=False, verify=True)
    with pytest.raises(UnusableSnapshot, match=r"vectors\.npy has changed"):
        Catalog.open(copied, verify=True)


def test_a_snapshot_of_an_older_version_is_refused_with_the_remedy_and_replaced_by_a_build(copied: Path) -> None:
    meta = json.loads((copied / "meta.json").read_bytes())
    del meta["seal"]
    meta["format"] = 1
    for file in meta["files"].values():
        del file["sha256"]
        file["crc32"] = 1
    (copied / "meta.json").write_text(json.dumps(meta))
    assert works_of.refusal(copied, Catalog.open) == refusal(copied)
    assert refusal(copied) == f"{copied}: its format is 1, this reflink reads 2: build the catalog again"
    Catalog.empty(lexical_mode=None).save(copied)
    assert len(Catalog.open(copied, verify=True)) == 0


def test_a_manifest_needs_its_seal_and_a_checksum_of_each_file(copied: Path) -> None:
    meta = json.loads((copied / "meta.json").read_bytes())
    del meta["seal"]
    (copied / "meta.json").write_text(json.dumps(meta))
    assert "seal is missing" in refusal(copied)
    del meta["files"]["works/rows.npy"]["sha256"]
    (copied / "meta.json").write_text(json.dumps(meta))
    assert "sha256" in refusal(copied)
