"""No snapshot is taken for what it is not: any byte changed, any file cut, missing, added or swapped is refused."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.catalog import Catalog, snapshot
from reflink.catalog.manifest import File, Manifest
from reflink.errors import UnusableSnapshot
from reflink.storage import checksums
from reflink.text import SEP
from tests.profiles import examples
from tests.reflink.catalog.works_of import DIM, FakeEncoder, work


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot with everything in it. Whoever changes it puts it back."""
    folder = tmp_path_factory.mktemp("saved") / "catalog"
    catalog = Catalog.empty(dim=DIM, model="fake@1", precision="fp32")
    catalog.add_encoded([work(f"w{n}", f"Title number {n}", pmid=str(n + 1)) for n in range(20)], FakeEncoder())
    catalog.save(folder, cluster="c", topic="t", offset=4711)
    return folder


@pytest.fixture
def copied(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "catalog"))


def names_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def refusal(folder: Path) -> str:
    """In one line: what is wrong, where, and what to do."""
    with pytest.raises(UnusableSnapshot) as caught:
        snapshot.verify(folder)
    message = str(caught.value)
    assert "\n" not in message
    assert "again" in message
    return message


def test_what_was_saved_is_whole(saved: Path) -> None:
    manifest = snapshot.verify(saved)
    assert {name.split("/")[0] for name in manifest.files} == {"works", "vectors", "trigrams", "texts"}
    assert {*manifest.files, "meta.json"} == set(names_of(saved))
    assert all(file.sha256 and file.crc32 is None for file in manifest.files.values())
    assert len(Catalog.open(saved, verify=True)) == 20


def test_a_manifest_from_before_separators_were_kept_is_of_sberts(copied: Path) -> None:
    said = json.loads((copied / "meta.json").read_text())
    del said["seal"], said["separator"]
    for file in said["files"].values():  # as then: no seal, other checksums
        del file["sha256"]
        file["crc32"] = 0
    (copied / "meta.json").write_text(json.dumps(said))
    assert snapshot.read(copied).separator == SEP
    Catalog.open(copied).check_model("fake@1", "TVL", "fp32", SEP)


@settings(max_examples=examples(200))
@given(st.data())
def test_any_byte_of_any_file_changed(saved: Path, data: st.DataObject) -> None:
    path = saved / data.draw(st.sampled_from(names_of(saved)))
    content = path.read_bytes()
    at = data.draw(st.integers(0, len(content) - 1))
    changed = bytearray(content)
    changed[at] ^= data.draw(st.sampled_from([1 << bit for bit in range(8)]) | st.integers(1, 255))
    path.write_bytes(changed)
    try:
        assert path.relative_to(saved).as_posix() in refusal(saved)
    finally:
        path.write_bytes(content)


@settings(max_examples=examples(60))
@given(st.data())
def test_any_file_cut_or_longer(saved: Path, data: st.DataObject) -> None:
    path = saved / data.draw(st.sampled_from(names_of(saved)))
    content = path.read_bytes()
    size = data.draw(st.integers(0, len(content) - 1))
    path.write_bytes(content[:size] if data.draw(st.booleans()) else content + content[size:])
    try:
        assert path.relative_to(saved).as_posix() in refusal(saved)
    finally:
        path.write_bytes(content)


def test_any_file_missing(copied: Path) -> None:
    for name in names_of(copied):
        (copied / name).rename(copied.with_name("kept"))
        assert name in refusal(copied)
        copied.with_name("kept").rename(copied / name)
    snapshot.verify(copied)


def test_any_two_files_swapped(copied: Path) -> None:
    names = [name for name in names_of(copied) if name != "meta.json"]
    for first, second in itertools.pairwise(names):
        contents = (copied / first).read_bytes(), (copied / second).read_bytes()
        if contents[0] == contents[1]:
            continue
        (copied / first).write_bytes(contents[1])
        (copied / second).write_bytes(contents[0])
        assert first in (told := refusal(copied)) or second in told
        (copied / first).write_bytes(contents[0])
        (copied / second).write_bytes(contents[1])


@pytest.mark.parametrize("name", ["more.npy", "works/more.npy", "other/more"])
def test_a_file_that_is_no_part_of_it(copied: Path, name: str) -> None:
    (copied / name).parent.mkdir(exist_ok=True)
    (copied / name).write_bytes(b"")
    assert name in refusal(copied)


def test_what_a_file_system_or_a_killed_writer_leaves_does_no_harm(copied: Path) -> None:
    (copied / ".nfs0001").touch()
    (copied / "meta.json.new").write_text("{")
    snapshot.verify(copied)


def test_the_manifest_of_another_snapshot(copied: Path, tmp_path: Path) -> None:
    other = Catalog.empty(lexical_mode=None)
    other.add([work("a")])
    other.save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "meta.json", copied)
    refusal(copied)


@pytest.mark.parametrize(
    "meta",
    [b"", b"{", b"[]", b"{}", b'{"kind": "other"}', b'{"format": 1}', b'{"works": "many"}', b"\xff"],
)
def test_manifests_that_are_none(copied: Path, meta: bytes) -> None:
    (copied / "meta.json").write_bytes(meta)
    refusal(copied)


def test_an_older_or_newer_format_is_told(copied: Path) -> None:
    for number in (0, 2):
        (copied / "meta.json").write_bytes(Manifest(format=number).to_bytes())
        assert f"format {number}, this reflink reads 1" in refusal(copied)


def test_only_what_is_opened_is_read(copied: Path) -> None:
    path = copied / "vectors" / "vectors.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    Catalog.open(copied, vectors=False, verify=True)
    with pytest.raises(UnusableSnapshot, match=r"vectors\.npy has changed"):
        Catalog.open(copied, verify=True)


def as_before_there_were_hashes(folder: Path) -> None:
    """CRC-32 alone, and no seal."""
    meta = json.loads((folder / "meta.json").read_bytes())
    del meta["seal"]
    for name, file in meta["files"].items():
        del file["sha256"]
        file["crc32"] = checksums.crc32(folder / name)
    (folder / "meta.json").write_text(json.dumps(meta))


def test_older_manifests_are_read_and_their_checksums_compared(copied: Path) -> None:
    as_before_there_were_hashes(copied)
    assert len(Catalog.open(copied, verify=True)) == 20
    for name in names_of(copied):
        if name == "meta.json":
            continue
        content = (copied / name).read_bytes()
        (copied / name).write_bytes(bytes([content[0] ^ 1]) + content[1:])
        assert name in refusal(copied)
        (copied / name).write_bytes(content)
    snapshot.bind(copied, cluster="c", topic="t", offset=3)
    assert snapshot.verify(copied).offset == 3


def test_a_file_needs_a_checksum_and_hashes_need_the_seal(copied: Path) -> None:
    with pytest.raises(ValueError, match="without checksum"):
        File(size=1)
    meta = json.loads((copied / "meta.json").read_bytes())
    del meta["seal"]
    (copied / "meta.json").write_text(json.dumps(meta))
    assert "seal is missing" in refusal(copied)
