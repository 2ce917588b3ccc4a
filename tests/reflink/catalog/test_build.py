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
from reflink.catalog.mapped import MappedWorks, WorksWriter
from reflink.errors import SnapshotError
from reflink.text import SEP
from tests.reflink.catalog.works_of import FakeEncoder, work


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "CHUNK", 8)


def works_file(folder: Path, number: int = 50) -> Path:
    path = folder / "works.jsonl"
    works = [work(f"w{n}", f"Title number {n}", pmid=str(n % 40 + 1)) for n in range(number)]
    path.write_bytes(b"".join(one.to_json() + b"\n" for one in works))
    return path


def test_a_build_is_what_adding_one_by_one_gives(tmp_path: Path) -> None:
    source, encoder = works_file(tmp_path), FakeEncoder()
    built = build(source, tmp_path / "out", encoder=encoder)
    assert (built.lines, built.bad, built.repeated) == (50, 0, 0)
    assert len(encoder.encoded) == 50
    catalog = Catalog.open(tmp_path / "out")
    by_hand = Catalog.empty(dim=encoder.dim, model=encoder.name, precision=encoder.precision)
    for n in range(50):
        by_hand.add_encoded([work(f"w{n}", f"Title number {n}", pmid=str(n % 40 + 1))], encoder)
    ids = sorted(one.id for one in by_hand)
    assert sorted(one.id for one in catalog) == ids
    assert [catalog.canonical(i) for i in ids] == [by_hand.canonical(i) for i in ids]
    np.testing.assert_array_equal(catalog.vectors.vectors(ids), by_hand.vectors.vectors(ids))
    text = ["meyer title number 7 2001 cell"]
    assert list(catalog.trigrams.search(text, 3)) == list(by_hand.trigrams.search(text, 3))
    assert not (tmp_path / "out.partial").exists()
    catalog.check_model(encoder.name, "TVL", encoder.precision, SEP)


def test_bad_lines_are_told_and_the_last_of_one_id_counts(tmp_path: Path) -> None:
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


def test_a_snapshot_is_a_vector_cache_by_text(tmp_path: Path) -> None:
    source = works_file(tmp_path)
    build(source, tmp_path / "first", encoder=FakeEncoder())
    with source.open("ab") as file:
        file.write(work("same-text-other-id", "Title number 3").to_json() + b"\n" + work("new", "New").to_json())
    encoder = FakeEncoder()
    build(source, tmp_path / "second", encoder=encoder, cache=tmp_path / "first")
    assert len(encoder.encoded) == 1
    first, second = Catalog.open(tmp_path / "first").vectors, Catalog.open(tmp_path / "second").vectors
    for one, other in (("w3", "w3"), ("w3", "same-text-other-id"), ("w49", "w49")):
        np.testing.assert_allclose(first.vectors([one]), second.vectors([other]), atol=2e-3)


def test_a_cache_of_another_model_is_refused_before_any_work(tmp_path: Path) -> None:
    source = works_file(tmp_path)
    build(source, tmp_path / "first", encoder=FakeEncoder())
    other = FakeEncoder()
    other.name = "fake@2"
    with pytest.raises(SnapshotError, match="model"):
        build(source, tmp_path / "second", encoder=other, cache=tmp_path / "first")
    with pytest.raises(SnapshotError, match="mode"):
        build(source, tmp_path / "second", encoder=FakeEncoder(), mode="T", cache=tmp_path / "first")
    assert other.encoded == []


def test_vectors_of_a_damaged_cache_are_not_taken_over(tmp_path: Path) -> None:
    source = works_file(tmp_path)
    build(source, tmp_path / "first", encoder=FakeEncoder())
    path = tmp_path / "first" / "vectors" / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(SnapshotError, match=r"vectors\.npy has changed"):
        build(source, tmp_path / "second", encoder=FakeEncoder(), cache=tmp_path / "first")


def test_texts_are_joined_as_the_model_wants_it_and_a_cache_joined_otherwise_is_refused(tmp_path: Path) -> None:
    source, encoder = works_file(tmp_path, 10), FakeEncoder(" ~ ")
    assert build(source, tmp_path / "first", encoder=encoder).manifest.separator == " ~ "
    assert encoder.encoded[3] == "title number 3 ~ cell ~ meyer"
    again = FakeEncoder(" ~ ")
    build(source, tmp_path / "second", encoder=again, cache=tmp_path / "first")
    assert not again.encoded
    with pytest.raises(SnapshotError, match=r"are of separator ' ~ ', not ' \[SEP\] ': build it again"):
        build(source, tmp_path / "third", encoder=FakeEncoder(), cache=tmp_path / "first")


@pytest.mark.parametrize("left", [b"", b"\x93NUMPY\x01\x00v", b"whatever"])
def test_a_chunk_of_vectors_that_a_power_cut_tore_is_computed_again(tmp_path: Path, left: bytes) -> None:
    works = WorksWriter(tmp_path / "works")
    with works:
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


def test_two_builds_do_not_meet(tmp_path: Path) -> None:
    source = works_file(tmp_path)

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


def test_a_killed_build_goes_on_where_it_was(tmp_path: Path) -> None:
    source, out = works_file(tmp_path, 200), tmp_path / "out"
    command = [sys.executable, "-c", _SLOW, str(source), str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3])
    assert process.stdout is not None
    before = [process.stdout.readline() for _ in range(10)]
    os.kill(process.pid, signal.SIGKILL)
    before += process.stdout.readlines()
    assert process.wait() == -signal.SIGKILL
    assert not out.exists()
    with pytest.raises(SnapshotError):
        Catalog.open(out)
    encoder = FakeEncoder()
    build(source, out, encoder=encoder)
    # What was being encoded when it was killed is lost, one chunk at most.
    assert 200 - 8 * len(before) <= len(encoder.encoded) <= 200 - 8 * (len(before) - 1)
    build(source, tmp_path / "at-once", encoder=FakeEncoder())
    for name in ("works/works.jsonl", "vectors/vectors.npy", "works/canonical.npy"):
        assert (out / name).read_bytes() == (tmp_path / "at-once" / name).read_bytes()


def test_a_file_cut_by_a_kill_is_not_taken_for_a_chunk(tmp_path: Path) -> None:
    source = works_file(tmp_path)

    class Killed(Exception):
        pass

    def stop(step: str, done: int, total: int) -> None:
        if (step, done) == ("encoding", 24):
            raise Killed

    with pytest.raises(Killed):
        build(source, tmp_path / "out", encoder=FakeEncoder(), progress=stop)
    chunks = list((tmp_path / "out.partial" / "vectors").iterdir())
    assert len(chunks) == 3
    chunks[0].rename(chunks[0].with_suffix(".999"))  # as a killed process leaves one
    encoder = FakeEncoder()
    build(source, tmp_path / "out", encoder=encoder)
    assert len(encoder.encoded) == 50 - 16
