"""Papers as records, works in the catalog topic, and the error of a tool if the broker refuses them."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from reflink.catalog import Catalog, snapshot
from reflink.catalog.build import build
from reflink.entities import Work
from reflink.errors import SnapshotError, TooLarge
from schemas import CatalogEvent, PaperPointer
from tests.kafka import read_all
from tests.killing import kills
from tests.workers.papers.test_stage import CITING, XML
from workers.catalog.bulk_load import load, load_and_bind
from workers.config.settings import KafkaSettings, ParserSettings
from workers.kafka.bulk_producer import NotSent, Sender
from workers.kafka.topics import TOPICS, TopicAdmin
from workers.papers.publishing import LIMIT, PaperRecord, compress, publish, put_aside, record_of
from workers.papers.stage import ParserStage
from workers.records import Message, Received

NAMELESS = XML.replace(b'<article-id pub-id-type="doi">10.5555/Citing</article-id>', b"")
WORKS = [Work(id=f"doi:10.1/{number}", title=f"On number {number}") for number in range(5)]


def received(record: PaperRecord) -> Received:
    return Received("papers", 0, 0, record.key, record.value, record.headers, 7)


# Papers


@pytest.mark.parametrize("encoding", ["identity", "gzip", "zstd"])
@pytest.mark.parametrize("version", [None, 0, 12])
@pytest.mark.parametrize("xml", [XML, NAMELESS])
def test_the_parser_reads_a_published_paper_and_its_key_is_the_id(encoding: Any, version: int | None, xml: bytes):
    record = record_of("folder/Some Paper.xml", xml, encoding=encoding, version=version)
    (read,) = ParserStage(ParserSettings()).decode(received(record))
    assert read.citing == record.key.decode()
    assert read.version == (7 if version is None else version)
    assert read.paper is not None
    assert len(read.paper.references) == 2


def test_versions_of_a_paper_share_its_key_under_every_file_name():
    keys = {record_of(name, data).key for name, data in [("a.xml", XML), ("b.xml", XML.replace(b"First", b"Best"))]}
    assert keys == {CITING.encode()}


def test_an_invalid_paper_is_published_under_its_file_name():
    record = record_of("folder/broken.xml", b"no paper")
    assert record.key == b"broken.xml"
    assert dict(record.headers)["reflink-content"] == b"paper"


@pytest.mark.parametrize("encoding", ["identity", "gzip", "zstd"])
def test_compression_is_the_same_every_time(encoding: Any):
    assert compress(XML, encoding) == compress(XML, encoding)


def test_a_large_paper_becomes_a_pointer_that_the_parser_follows(tmp_path: Path):
    limit = len(compress(XML, "zstd")) - 1
    record = record_of("a.xml", XML, pointer_root=tmp_path, limit=limit)
    assert dict(record.headers)["reflink-content"] == b"pointer"
    read = ParserStage(ParserSettings(pointer_root=tmp_path)).decode(received(record))
    assert read == ParserStage(ParserSettings()).decode(received(record_of("a.xml", XML)))
    assert dict(record_of("a.xml", XML, pointer_root=tmp_path, limit=limit + 1).headers)["reflink-content"] == b"paper"


def test_a_large_paper_without_a_root_is_refused():
    with pytest.raises(TooLarge, match="pointer-root"):
        record_of("a.xml", XML, limit=10)


def test_the_largest_record_fits_into_its_topic():
    message = Message("papers", b"k" * 500, b"x" * LIMIT, headers=record_of("a", XML, version=10**17).headers)
    assert message.size() <= TOPICS["papers"].max_message_bytes


def test_a_file_that_is_put_aside_is_whole_whenever_the_writer_is_killed(tmp_path: Path):
    stored, calls = bytes(range(256)) * 40, []
    name = hashlib.sha256(stored).hexdigest()
    path = tmp_path / "root" / name[:2] / name
    for kill in kills(
        lambda: shutil.rmtree(tmp_path / "root", ignore_errors=True), lambda: put_aside(stored, tmp_path / "root")
    ):
        assert not path.exists() or path.read_bytes() == stored
        put_aside(stored, tmp_path / "root")
        assert path.read_bytes() == stored
        calls.append(kill.call)
    assert {"write", "fsync"} < set(calls)


def test_a_truncated_file_is_written_again(tmp_path: Path):
    pointer = PaperPointer.from_json(put_aside(b"data", tmp_path))
    (tmp_path / pointer.path).write_bytes(b"da")
    put_aside(b"data", tmp_path)
    assert (tmp_path / pointer.path).read_bytes() == b"data"


def test_a_file_put_aside_twice_is_one_file(tmp_path: Path):
    pointers = {put_aside(b"data", tmp_path) for _ in range(2)}
    (pointer,) = map(PaperPointer.from_json, pointers)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.relative_to(tmp_path).as_posix() for path in files] == [pointer.path]
    assert (pointer.sha256, pointer.size) == (hashlib.sha256(b"data").hexdigest(), 4)


# On a broker


def test_published_papers_arrive_unchanged(kafka: KafkaSettings):
    records = [record_of("a.xml", XML, version=3), record_of("b.xml", NAMELESS, encoding="gzip")]
    with Sender(kafka) as sender:
        assert publish(records, sender) == 2
    arrived = {record.key: record for record in read_all(kafka, "papers")}
    for record in records:
        assert (arrived[record.key].value, arrived[record.key].headers) == (record.value, record.headers)


def test_a_record_that_the_broker_rejects_raises_an_error(kafka: KafkaSettings):
    def send() -> None:
        with Sender(kafka) as sender:
            sender.send("papers", b"small", b"x")
            sender.send("papers", b"big", os.urandom(9_500_000))

    with pytest.raises(NotSent, match="papers big: "):
        send()


def test_works_are_loaded_in_order(kafka: KafkaSettings):
    progress: list[int] = []
    assert load(WORKS, kafka, progress.append) == 5
    records = read_all(kafka, "catalog")
    assert [CatalogEvent.from_json(record.value or b"").work for record in records] == WORKS
    assert [record.key for record in records] == [work.id.encode() for work in WORKS]
    assert progress[-1] == 5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Build a catalog folder from a file in which the first work is on two lines; the last line counts."""
    lines = [WORKS[0].model_copy(update={"title": "An older title"}), *WORKS]
    source = tmp_path / "works.jsonl"
    source.write_text("".join(json.dumps(work.to_dict()) + "\n" for work in lines))
    build(source, tmp_path / "catalog", encoder=None)
    return tmp_path / "catalog"


def test_a_folder_is_bound_to_the_topic_that_it_fills(kafka: KafkaSettings, folder: Path):
    older = WORKS[0].model_copy(update={"title": "An older title"})
    assert load_and_bind([older, *WORKS, WORKS[2]], folder, kafka) == 5
    manifest = snapshot.read(folder)
    with TopicAdmin(kafka) as admin:
        assert (manifest.cluster, manifest.topic, manifest.offset) == (admin.cluster_id(), kafka.topic("catalog"), 5)
    assert [record.key for record in read_all(kafka, "catalog")] == [work.id.encode() for work in WORKS]
    assert Catalog.open(folder, trigrams=False, vectors=False).offset == 5
    with pytest.raises(SnapshotError, match="is not empty \\(5 events\\)"):
        load_and_bind(WORKS, folder, kafka)


@pytest.mark.parametrize(
    ("works", "message"),
    [
        ([*WORKS, Work(id="doi:10.1/other", title="x")], "does not contain doi:10.1/other"),
        (WORKS[:4], f"1 of 5 works in .* differ from the file, e.g. {WORKS[4].id}: .*--from"),
    ],
)
def test_a_folder_of_other_works_is_not_bound(kafka: KafkaSettings, folder: Path, works: list[Work], message: str):
    with pytest.raises(SnapshotError, match=message):
        load_and_bind(works, folder, kafka)
    assert not snapshot.read(folder).topic


def test_gzip_data_has_no_timestamp():
    assert gzip.decompress(compress(XML, "gzip")) == XML
    assert compress(XML, "gzip")[4:8] == bytes(4)
