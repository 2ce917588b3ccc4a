import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from reflink.errors import SnapshotError
from reflink.storage import flatfiles

KIND = "a kind"
WANTED = {"a": (np.int64, 1), "b": (np.float16, 2)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = np.arange(12, dtype=np.float16).reshape(6, 2)
    blocks = flatfiles.Blocks(iter([rows[:4], rows[4:]]), (6, 2), np.float16)
    flatfiles.save(tmp_path / "deep" / "folder", KIND, {"mode": "T"}, {"a": np.arange(5), "b": blocks})
    return tmp_path / "deep" / "folder"


def test_saved_arrays_are_mapped_read_only(folder: Path) -> None:
    about, arrays = flatfiles.load(folder, KIND, WANTED)
    assert about == {"mode": "T"}
    assert arrays["a"].tolist() == [0, 1, 2, 3, 4]
    assert arrays["b"].tolist() == np.arange(12).reshape(6, 2).tolist()
    assert not arrays["a"].flags.writeable
    assert sorted(path.name for path in folder.iterdir()) == ["a.npy", "b.npy", "manifest.json"]


def test_empty_arrays_are_restored(tmp_path: Path) -> None:
    flatfiles.save(tmp_path, KIND, {}, {"a": np.empty(0, np.int64), "b": np.empty((0, 2), np.float16)})
    assert flatfiles.load(tmp_path, KIND, WANTED)[1]["b"].shape == (0, 2)


def test_readers_of_the_old_files_continue_to_read_them(folder: Path) -> None:
    old = flatfiles.load(folder, KIND, WANTED)[1]["a"]
    flatfiles.save(folder, KIND, {}, {"a": old * 2, "b": np.zeros((1, 2), np.float16)})
    assert old.tolist() == [0, 1, 2, 3, 4]
    assert flatfiles.load(folder, KIND, WANTED)[1]["a"].tolist() == [0, 2, 4, 6, 8]


def test_an_interrupted_save_leaves_a_folder_that_is_refused(folder: Path) -> None:
    def blocks() -> object:
        yield np.zeros((1, 2), np.float16)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        flatfiles.save(folder, KIND, {}, {"a": np.arange(1), "b": flatfiles.Blocks(blocks(), (2, 2), np.float16)})  # type: ignore[arg-type]
    with pytest.raises(SnapshotError, match="unfinished"):
        flatfiles.load(folder, KIND, WANTED)


def _manifest(**changes: object) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        path = folder / "manifest.json"
        content = json.loads(path.read_text()) | changes
        path.write_text(json.dumps(content | {"sha256": flatfiles._sha256(content)}))

    return change


def test_folders_without_checksums_are_read(folder: Path) -> None:
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    del content["sha256"]
    content["files"] = {name: file["size"] for name, file in content["files"].items()}
    path.write_text(json.dumps(content))
    assert flatfiles.load(folder, KIND, WANTED, verify=True)[1]["a"].tolist() == [0, 1, 2, 3, 4]


def test_verify_compares_the_content(folder: Path) -> None:
    path = folder / "b.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 64
    path.write_bytes(content)
    flatfiles.load(folder, KIND, WANTED)
    with pytest.raises(SnapshotError, match=r"b.npy: its content has changed"):
        flatfiles.load(folder, KIND, WANTED, verify=True)


def _replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "manifest.json").unlink(), "unfinished"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "cannot be read"),
        (lambda folder: (folder / "manifest.json").write_text("[]"), "cannot be read"),
        (_manifest(format=2), "format 2"),
        (_manifest(kind="another"), "holds 'another'"),
        (lambda folder: _replaced(folder / "manifest.json", '"T"', '"V"'), "manifest.json: its content has changed"),
        (lambda folder: _replaced(folder / "manifest.json", '\n "sha256"', '\n "sha257"'), "its content has changed"),
        (_manifest(files=[]), "not a manifest"),
        (_manifest(files={}), "cannot be read"),
        (lambda folder: (folder / "a.npy").unlink(), "cannot be read"),
        (lambda folder: (folder / "a.npy").write_bytes((folder / "a.npy").read_bytes()[:-1]), "bytes instead of"),
        (lambda folder: (folder / "a.npy").write_bytes(b"x" * (folder / "a.npy").stat().st_size), "cannot be read"),
        (lambda folder: np.save(folder / "a.npy", np.arange(5, dtype=np.uint64)), "is not the expected array"),
    ],
)  # fmt: skip
def test_damage_is_refused(folder: Path, damage: Callable[[Path], object], message: str) -> None:
    damage(folder)
    with pytest.raises(SnapshotError, match=message):
        flatfiles.load(folder, KIND, WANTED)
