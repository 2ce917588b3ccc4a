"""Values that an attacker would write: each raises a named error for its record only, in little time and memory."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path, PurePath

import pytest
import zstandard

from reflink.errors import BadRecord, NotAPaper, ReflinkError, TooLarge
from schemas import PaperPointer, read_outcome_event
from schemas.export import EVENTS
from tests.data import ROOT
from tests.workers.papers.test_stage import XML, record, stage
from workers.papers.safe_open import read_beneath
from workers.papers.stage import decompress, fetch

#: Far above the time of any of these tests, far below that of code whose cost grows with the square of the size.
pytestmark = pytest.mark.timeout(60)

LARGEST = 8_000_000  # the largest message of the topic papers
READERS: dict[str, Callable[[bytes], object]] = {
    **{name: model.from_json for name, model in EVENTS.items()},
    "outcomes or manifest": read_outcome_event,
}


# JSON


def with_field(text: str) -> str:
    return '{"schema_version":1,"x":' + text + "}"


#: Values that are not valid as an event of any kind.
JSON: dict[str, Callable[[], str | bytes]] = {
    "arrays 100,000 deep": lambda: with_field("[" * 100_000 + "]" * 100_000),
    "objects 100,000 deep": lambda: with_field('{"x":' * 100_000 + "1" + "}" * 100_000),
    "arrays that never end": lambda: "[" * LARGEST,
    "a number of 8,000,000 digits": lambda: with_field("9" * LARGEST),
    "a version of 1,000,000 digits": lambda: '{"schema_version":' + "9" * 1_000_000 + "}",
    "an infinite version": lambda: '{"schema_version":1e400}',
    "a version that is no number": lambda: '{"schema_version":NaN}',
    "a version that is true": lambda: '{"schema_version":true}',
    "a version given twice": lambda: '{"schema_version":1,"schema_version":99}',
    "a newer version given twice": lambda: '{"schema_version":99,"schema_version":1}',
    "a lone surrogate": lambda: '{"schema_version":1,"citing":"\\ud800"}',
    "a surrogate's bytes": lambda: b'{"schema_version":1,"citing":"\xed\xa0\x80"}',
    "bytes that are no UTF-8": lambda: b'{"schema_version":1,"citing":"\xff"}',
    "a null character": lambda: '{"schema_version":1,"citing":"\x00"}',
    "a text of 8 MB": lambda: '{"schema_version":1,"citing":"' + "x" * LARGEST + '"}',
    "a name of 8 MB": lambda: '{"schema_version":1,"' + "x" * LARGEST + '":1}',
    "8 MB of nothing": lambda: " " * LARGEST,
    "NaN and infinities": lambda: '{"schema_version":1,"x":NaN,"y":Infinity,"z":-Infinity}',
    "UTF-16": lambda: '{"schema_version":1}'.encode("utf-16"),
    "a byte order mark": lambda: "\ufeff{}",
    "no object": lambda: "null",
    "nothing": lambda: "",
}


@pytest.mark.parametrize("what", JSON)
@pytest.mark.parametrize("kind", READERS)
def test_hostile_json_is_a_bad_record_in_one_short_line(kind: str, what: str):
    text = JSON[what]()
    with pytest.raises(BadRecord) as error:
        READERS[kind](text if isinstance(text, bytes) else text.encode())
    assert len(str(error.value)) < 500
    assert "\n" not in str(error.value)


_COST = """
import resource, sys
from reflink.errors import BadRecord
from tests.workers.test_hostile_events import JSON, READERS
many = lambda: '{"schema_version":1' + "".join(f',"{number}":1' for number in range(100_000)) + "}"
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for text in (*JSON.values(), many):
    data = text()
    data = data if isinstance(data, bytes) else data.encode()
    try:
        READERS["reference"](data)
    except BadRecord:
        pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_hostile_json_takes_little_memory():
    """The memory, in MiB, is that of a separate process: the JSON parser is native code, which tracemalloc does not see."""
    done = subprocess.run([sys.executable, "-c", _COST], capture_output=True, text=True, cwd=ROOT, check=True)
    assert int(done.stdout) < 256


@pytest.mark.parametrize(
    ("name", "value"),
    [("size", "9" * 4000), ("size", "-1"), ("size", "1e30"), ("size", "NaN"), ("path", "[]"), ("sha256", '"A"')],
)
def test_a_pointer_with_odd_fields_is_refused(name: str, value: str, tmp_path: Path):
    fields = {"schema_version": 1, "path": "a", "sha256": "0" * 64, "size": 1, name: "@"}
    data = json.dumps(fields).replace('"@"', value).encode()
    with pytest.raises((BadRecord, TooLarge)):
        stage(pointer_root=tmp_path).decode(record(data, content="pointer"))


# Compression

EMPTY_FRAME = zstandard.ZstdCompressor().compress(b"")
SKIPPED_FRAME = b"\x50\x2a\x4d\x18" + bytes(4)
ZSTD = b"\x28\xb5\x2f\xfd"
LAST_EMPTY_BLOCK = b"\x01\x00\x00"


def window(log: int) -> bytes:
    """Return a frame that requires a window of ``2**log`` bytes."""
    return ZSTD + bytes([0, (log - 10) << 3]) + LAST_EMPTY_BLOCK


def of_size(size: int) -> bytes:
    """Return a frame whose header declares ``size`` bytes of content in a single segment."""
    return ZSTD + bytes([0b11100000]) + size.to_bytes(8, "little") + LAST_EMPTY_BLOCK


def repeated(byte: bytes, times: int) -> bytes:
    """Return a frame of ``times`` blocks, each of which has four bytes and stands for 128 KiB."""
    block = ((128 * 1024) << 3 | 1 << 1).to_bytes(3, "little") + byte
    return ZSTD + bytes([0, 7 << 3]) + block * times + LAST_EMPTY_BLOCK


BOMBS: dict[str, tuple[str, bytes, type[ReflinkError]]] = {
    "gzip of zeros": ("gzip", gzip.compress(bytes(50_000_000), 9) * 20, TooLarge),
    "thousands of gzip members": ("gzip", gzip.compress(b"") * 10_000 + gzip.compress(bytes(2_000_000)), TooLarge),
    "gzip members that never end": ("gzip", gzip.compress(b"") * 10_000 + gzip.compress(b"a")[:-1], BadRecord),
    "a gzip name without end": ("gzip", b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * LARGEST, BadRecord),
    "repeating zstd blocks": ("zstd", repeated(b"a", 200_000), TooLarge),
    "900,000 empty zstd frames": ("zstd", EMPTY_FRAME * 890_000, BadRecord),
    "a million zstd frames to skip": ("zstd", SKIPPED_FRAME * 1_000_000, BadRecord),
    "a zstd frame to skip beyond the end": ("zstd", SKIPPED_FRAME[:4] + b"\xff" * 4, BadRecord),
    "a zstd window of 256 MB": ("zstd", window(28), BadRecord),
    "a zstd window of 2 TB": ("zstd", window(41), BadRecord),
    "a zstd frame that says it is huge": ("zstd", of_size(2**60), BadRecord),
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_bomb_is_a_named_error_within_little_memory(what: str):
    encoding, data, error = BOMBS[what]
    limit = 1_000_000
    tracemalloc.start()
    try:
        with pytest.raises(error):
            decompress(data, encoding, limit)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(data) + 20 * limit
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_what_is_packed_twice_is_unpacked_once(pack: Callable[[bytes], bytes]):
    encoding = "gzip" if pack is gzip.compress else "zstd"
    with pytest.raises(NotAPaper):
        stage().decode(record(pack(pack(XML)), encoding=encoding))


def test_several_frames_are_one_paper_still():
    """Writers with several threads make several frames."""
    middle = len(XML) // 2
    data = zstandard.compress(XML[:middle]) + SKIPPED_FRAME + EMPTY_FRAME + zstandard.compress(XML[middle:])
    assert stage().decode(record(data, encoding="zstd")) == stage().decode(record())


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_pointers_file_may_be_a_bomb_too(encoding: str, tmp_path: Path):
    bomb = gzip.compress(bytes(50_000_000), 9) if encoding == "gzip" else repeated(b"a", 1000)
    (tmp_path / "bomb").write_bytes(bomb)
    pointer = {"schema_version": 1, "path": "bomb", "sha256": hashlib.sha256(bomb).hexdigest(), "size": len(bomb)}
    hostile = record(json.dumps(pointer).encode(), content="pointer", encoding=encoding)
    with pytest.raises(TooLarge, match="REFLINK_MAX_PAPER_BYTES"):
        stage(pointer_root=tmp_path, max_paper_bytes=1_000_000).decode(hostile)


# Pointers: cases that tests/workers/papers/test_stage.py does not test


def pointer(path: str, data: bytes = b"", size: int | None = None) -> PaperPointer:
    return PaperPointer(
        schema_version=1, path=path, sha256=hashlib.sha256(data).hexdigest(), size=len(data) if size is None else size
    )


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/stdin", "/proc/self/environ", "..", ".", "a/../..", "//etc/passwd", "~"])
def test_no_path_leads_to_what_is_not_a_file_beneath_the_root(path: str, tmp_path: Path):
    with pytest.raises(BadRecord, match="pointer"):
        fetch(pointer(path), tmp_path, 10**6)


def test_a_device_beneath_the_root_is_not_read(tmp_path: Path):
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(BadRecord, match="leaves the allowed root"):
        fetch(pointer("zero"), tmp_path, 10**6)
    with pytest.raises(BadRecord, match="no file with this size"):
        fetch(pointer("zero"), Path("/dev"), 10**6)


def test_a_file_that_grows_while_it_is_read_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a").write_bytes(b"short")
    measured = os.fstat

    def grown(file: int) -> os.stat_result:
        found = measured(file)
        with (tmp_path / "a").open("ab") as more:
            more.write(bytes(10_000_000))
        return found

    monkeypatch.setattr(os, "fstat", grown)
    assert read_beneath(tmp_path, PurePath("a"), 5) == b"short\x00"


@pytest.mark.parametrize("swapped", ["file", "folder"])
def test_what_is_swapped_for_a_link_after_the_check_leads_nowhere(swapped: str, tmp_path: Path):
    """This is the state if the link replaces a harmless file after its path is resolved and before it is opened."""
    root, secret = tmp_path / "root", tmp_path / "secret"
    secret.mkdir()
    (secret / "a.xml").write_bytes(XML)
    (root / "in").mkdir(parents=True)
    if swapped == "file":
        (root / "in" / "a.xml").symlink_to(secret / "a.xml")
    else:
        (root / "in").rmdir()
        (root / "in").symlink_to(secret)
    with pytest.raises(OSError):
        read_beneath(root, PurePath("in/a.xml"), len(XML))


def test_a_pipe_or_a_folder_in_a_files_place_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert read_beneath(tmp_path, PurePath("pipe"), 0) is None
    assert read_beneath(tmp_path, PurePath("folder"), (tmp_path / "folder").stat().st_size) is None
    assert read_beneath(tmp_path, PurePath(), 0) is None


def test_no_file_stays_open(tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_bytes(b"a")
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    for name, size in (("a", 1), ("a", 2), ("no", 1), ("a/b", 1)):
        try:
            read_beneath(tmp_path, PurePath("in") / name, size)
        except OSError:
            continue
    after = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    assert after == before


# XML: as records that the stage decodes


XML_ATTACKS: dict[str, bytes] = {
    "a billion laughs": b'<!DOCTYPE article [<!ENTITY a "' + b"l" * 1000 + b'">'
    + b"".join(b'<!ENTITY %c "%b">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
    + b"]><article><front/><body>&j;</body></article>",
    "a quadratic blow-up": b'<!DOCTYPE article [<!ENTITY a "' + b"l" * 100_000 + b'">]><article><front/><body>'
    + b"&a;" * 50_000 + b"</body></article>",
    "a file's content": b'<!DOCTYPE article [<!ENTITY a SYSTEM "file:///etc/passwd">]><article><front/><back><ref-list><ref>'
    b"<mixed-citation>&a;</mixed-citation></ref></ref-list></back></article>",
    "a parameter entity": b'<!DOCTYPE article [<!ENTITY % a SYSTEM "file:///etc/passwd">%a;]><article><front/></article>',
    "an address": b'<!DOCTYPE article SYSTEM "http://127.0.0.1:9/a.dtd"><article><front/></article>',
    "an inclusion": b'<article xmlns:xi="http://www.w3.org/2001/XInclude"><front/><back><ref-list><ref><mixed-citation>'
    b'<xi:include href="file:///etc/passwd" parse="text"/></mixed-citation></ref></ref-list></back></article>',
    "a style sheet": b'<?xml-stylesheet href="file:///etc/passwd"?><article><front/></article>',
    "attributes without end": b"<article><front/><back " + b" ".join(b'a%d="1"' % n for n in range(200_000)) + b"/></article>",
    "an attribute of 7 MB": b'<article><front/><back x="' + b"a" * 7_000_000 + b'"/></article>',
    "elements 500,000 deep": b"<article><front/>" + b"<p>" * 500_000,
}  # fmt: skip


@pytest.mark.parametrize("what", XML_ATTACKS)
def test_an_xml_attack_is_a_paper_without_its_prey_or_a_named_error(what: str):
    tracemalloc.start()
    try:
        (found,) = stage().decode(record(XML_ATTACKS[what]))
    except (NotAPaper, TooLarge):
        return
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 200_000_000
    assert found.paper is not None
    assert "root:" not in found.paper.to_json().decode()
    assert sum(len(reference.raw_text) for reference in found.paper.references) < 100_000
