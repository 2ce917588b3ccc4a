from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reflink.catalog import Catalog, encoding
from reflink.catalog.build import build
from reflink.catalog.encoding import encode_chunks
from reflink.catalog.mapped import MappedWorks
from reflink.catalog.writing import WorksWriter
from reflink.errors import SnapshotError
from reflink.text import SEP
from tests.data import ROOT
from tests.reflink.catalog.works_of import FakeEncoder, work


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "CHUNK", 8)


def works_file(folder: Path, number: int = 50) -> Path:
    path = folder / "works.jsonl"
    works = [work(f"w{n}", f"Title number {n}", pmid=str(n % 40 + 1)) for n in range(number)]
    path.write_bytes(b"".join(each.to_json() + b"\n" for each in works))
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return works_file(tmp_path)


@pytest.fixture
def cache(source: Path, tmp_path: Path) -> Path:
    """A snapshot of the source, whose vectors another build may reuse."""
    build(source, tmp_path / "first", encoder=FakeEncoder())
    return tmp_path / "first"


def test_a_build_equals_adding_the_works_one_by_one(source: Path, tmp_path: Path) -> None:
    encoder = FakeEncoder()
    built = build(source, tmp_path / "out", encoder=encoder)
    assert (built.lines, built.bad, built.repeated) == (50, 0, 0)
    assert len(encoder.encoded) == 50
    catalog = Catalog.open(tmp_path / "out")
    by_hand = Catalog.empty(dim=encoder.dim, model=encoder.name, precision=encoder.precision)
    for n in range(50):
        by_hand.add_encoded([work(f"w{n}", f"Title number {n}", pmid=str(n % 40 + 1))], encoder)
    ids = sorted(each.id for each in by_hand)
    assert sorted(each.id for each in catalog) == ids
    assert [catalog.canonical(i) for i in ids] == [by_hand.canonical(i) for i in ids]
    np.testing.assert_array_equal(catalog.vectors.vectors(ids), by_hand.vectors.vectors(ids))
    text = ["meyer title number 7 2001 cell"]
    assert list(catalog.trigrams.search(text, 3)) == list(by_hand.trigrams.search(text, 3))
    assert not (tmp_path / "out.partial").exists()
    catalog.check_model(encoder.name, "TVL", encoder.precision, SEP)


def test_invalid_lines_are_reported_and_the_last_line_of_an_id_counts(tmp_path: Path) -> None:
    source, bad = works_file(tmp_path, 10), []
    with source.open("ab") as file:
        file.write(b"{}\n" + work("w3", "Another title").to_json() + b"\nnot json\n")
    built = build(source, tmp_path / "out", encoder=None, on_bad=bad.append)
    assert (built.lines, built.bad, built.repeated) == (13, 2, 1)
    assert [f"{source}:{line}" in str(error) for line, error in zip((11, 13), bad, strict=True)] == [True, True]
    catalog = Catalog.open(tmp_path / "out")
    assert catalog.vectors is None
    assert catalog.get("w3") == work("w3", "Another title")
    assert len(catalog) == len(catalog.trigrams) == 10


def test_a_snapshot_caches_vectors_by_text(source: Path, cache: Path, tmp_path: Path) -> None:
    with source.open("ab") as file:
        file.write(work("same-text-other-id", "Title number 3").to_json() + b"\n" + work("new", "New").to_json())
    encoder = FakeEncoder()
    build(source, tmp_path / "second", encoder=encoder, cache=cache)
    assert len(encoder.encoded) == 1
    first, second = Catalog.open(cache).vectors, Catalog.open(tmp_path / "second").vectors
    for cached, reused in (("w3", "w3"), ("w3", "same-text-other-id"), ("w49", "w49")):
        np.testing.assert_allclose(first.vectors([cached]), second.vectors([reused]), atol=2e-3)


@pytest.mark.parametrize(
    ("attribute", "value", "mode", "message"),
    [
        ("name", "fake@2", "TVL", "of model fake@1, not fake@2"),
        ("name", "fake@1", "T", "of mode TVL, not T"),
        ("separator", " ~ ", "TVL", r"are of separator ' \[SEP\] ', not ' ~ ': build it again"),
    ],
)
def test_a_cache_of_other_vectors_is_refused_before_any_work(
    source: Path, cache: Path, tmp_path: Path, attribute: str, value: str, mode: str, message: str
) -> None:
    encoder = FakeEncoder()
    setattr(encoder, attribute, value)
    with pytest.raises(SnapshotError, match=message):
        build(source, tmp_path / "second", encoder=encoder, mode=mode, cache=cache)  # type: ignore[arg-type]
    assert encoder.encoded == []


def test_vectors_of_a_damaged_cache_are_refused(source: Path, cache: Path, tmp_path: Path) -> None:
    path = cache / "vectors" / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(SnapshotError, match=r"vectors\.npy has changed"):
        build(source, tmp_path / "second", encoder=FakeEncoder(), cache=cache)


def test_a_build_joins_texts_by_the_models_separator(tmp_path: Path) -> None:
    source, encoder, again = works_file(tmp_path, 10), FakeEncoder(" ~ "), FakeEncoder(" ~ ")
    assert build(source, tmp_path / "first", encoder=encoder).manifest.separator == " ~ "
    assert encoder.encoded[3] == "title number 3 ~ cell ~ meyer"
    build(source, tmp_path / "second", encoder=again, cache=tmp_path / "first")
    assert not again.encoded


@pytest.mark.parametrize("left", [b"", b"\x93NUMPY\x01\x00v", b"whatever"])
def test_a_torn_chunk_of_vectors_is_computed_again(tmp_path: Path, left: bytes) -> None:
    with WorksWriter(tmp_path / "works") as works:
        for number in range(3):
            works.append(work(f"w{number}"))
    mapped, encoder = MappedWorks.open(tmp_path / "works"), FakeEncoder()
    (first,) = encode_chunks(mapped, encoder, "TVL", tmp_path / "chunks")
    (chunk,) = (tmp_path / "chunks").iterdir()
    chunk.write_bytes(left)
    (again,) = encode_chunks(mapped, encoder, "TVL", tmp_path / "chunks")
    np.testing.assert_array_equal(first[1], again[1])
    assert len(encoder.encoded) == 6
    list(encode_chunks(mapped, encoder, "TVL", tmp_path / "chunks"))
    assert len(encoder.encoded) == 6


def test_a_second_build_into_the_same_folder_is_refused(source: Path, tmp_path: Path) -> None:
    def second(step: str, done: int, total: int) -> None:
        with pytest.raises(SnapshotError, match="another build"):
            build(source, tmp_path / "out", encoder=None)

    build(source, tmp_path / "out", encoder=None, progress=second)


# Each chunk takes some time and is reported once it is encoded. The build never ends.
_SLOW = """
import sys, time
from pathlib import Path
from reflink.catalog import encoding
from reflink.catalog.build import build
from tests.reflink.catalog.works_of import FakeEncoder
encoding.CHUNK = 8
class Slow(FakeEncoder):
    calls = 0
    def encode(self, texts):
        Slow.calls += 1
        time.sleep(0.05 if Slow.calls < 13 else 600)
        print(len(texts), flush=True)
        return super().encode(texts)
build(Path(sys.argv[1]), Path(sys.argv[2]), encoder=Slow())
"""


def test_a_killed_build_is_resumed(tmp_path: Path) -> None:
    source, out = works_file(tmp_path, 200), tmp_path / "out"
    command = [sys.executable, "-c", _SLOW, str(source), str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    before = [process.stdout.readline() for _ in range(10)]
    os.kill(process.pid, signal.SIGKILL)
    before += process.stdout.readlines()
    assert process.wait() == -signal.SIGKILL
    assert not out.exists()
    # A killed process leaves a chunk under a partial name, which the next build must not read as a chunk.
    chunks = sorted((tmp_path / "out.partial" / "vectors").glob("*.npy"))
    chunks[0].rename(chunks[0].with_suffix(".999"))
    encoder = FakeEncoder()
    build(source, out, encoder=encoder)
    # The chunk in progress at the kill is lost, and the renamed chunk.
    assert 200 - 8 * (len(before) - 1) <= len(encoder.encoded) <= 200 - 8 * (len(before) - 2)
    build(source, tmp_path / "at-once", encoder=FakeEncoder())
    for name in ("works/works.jsonl.zst", "vectors/vectors.npy", "works/canonical.npy"):
        assert (out / name).read_bytes() == (tmp_path / "at-once" / name).read_bytes()
