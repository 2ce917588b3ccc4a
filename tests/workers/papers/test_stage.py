"""The parser's stage: valid and invalid records of ``papers``, and its output for them."""

from __future__ import annotations

import gzip
import hashlib
import os
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from reflink.errors import BadRecord, NotAPaper, ReflinkError, TooLarge
from schemas import ContextsEvent, ManifestEvent, PaperPointer, ReferenceEvent
from workers.config.settings import ParserSettings
from workers.kafka.topics import TOPICS
from workers.papers.stage import ParserStage, decompress, fetch
from workers.records import Message, Received
from workers.stage import NoView, Output

XML = b"""<article><front><article-meta><article-id pub-id-type="doi">10.5555/Citing</article-id>
<title-group><article-title>On citing</article-title></title-group></article-meta></front><back><ref-list>
<ref id="B1"><mixed-citation>Doe J. First work. <source>J Firsts</source> <year>2001</year></mixed-citation></ref>
<ref id="B2"><mixed-citation>Roe R. Second work. <year>2002</year></mixed-citation></ref>
</ref-list></back></article>"""
CITING = "doi:10.5555/citing"
ARRIVED = 1_700_000_000_000


def record(value: bytes | None = XML, *, key: bytes | None = b"a", **headers: str | bytes) -> Received:
    named = tuple((f"reflink-{name}", value if isinstance(value, bytes) else value.encode()) for name, value in headers.items())
    return Received("papers", 1, 5, key, value, named, ARRIVED)


def stage(**settings: object) -> ParserStage:
    return ParserStage(ParserSettings(**settings))


def handled(*records: Received, **settings: object) -> list[Message]:
    parser = stage(**settings)
    return parser.handle([parser.decode(each) for each in records], NoView()).messages


# Output


def manifest_of(messages: list[Message]) -> ManifestEvent:
    return ManifestEvent.from_json(messages[0].value or b"")


def test_a_paper_becomes_its_manifest_and_its_references():
    messages = handled(record())
    assert [message.topic for message in messages] == ["outcomes", "references", "references"]
    assert {message.key for message in messages} == {CITING.encode()}
    manifest = manifest_of(messages)
    assert (manifest.citing, manifest.paper_version, manifest.arrived, manifest.live) == (CITING, ARRIVED, ARRIVED, True)
    assert manifest.references == (f"{CITING}#B1.1", f"{CITING}#B2.1")
    events = [ReferenceEvent.from_json(message.value or b"") for message in messages[1:]]
    assert tuple(event.reference.id for event in events) == manifest.references
    assert {(event.citing, event.paper_version, event.arrived) for event in events} == {(CITING, ARRIVED, ARRIVED)}
    assert "First work" in events[0].reference.raw_text
    assert manifest.offered
    assert manifest.work is not None
    assert (manifest.work.id, manifest.work.title, manifest.work.status) == (CITING, "On citing", None)


def test_a_retracted_paper_is_offered_with_its_status():
    notice = b"""<related-article related-article-type="retracted-by" ext-link-type="doi" xlink:href="10.5555/notice"
 xmlns:xlink="http://www.w3.org/1999/xlink"/></article-meta>"""
    work = manifest_of(handled(record(XML.replace(b"</article-meta>", notice)))).work
    assert work is not None
    assert work.status == "retracted"


def test_each_manifest_comes_before_its_references():
    messages = handled(record(version="1"), record(version="2"), record(XML.replace(b"Citing<", b"Other<"), version="1"))
    announced: set[tuple[str, int]] = set()
    for message in messages:
        if message.topic == "outcomes":
            manifest = ManifestEvent.from_json(message.value or b"")
            announced.add((manifest.citing, manifest.paper_version))
        elif message.topic == "references":
            event = ReferenceEvent.from_json(message.value or b"")
            assert (event.citing, event.paper_version) in announced
    assert len(announced) == 3


def test_papers_are_not_offered_if_the_setting_is_off():
    for each in (record(), record(None, key=b"doi:10.1/a")):
        manifest = manifest_of(handled(each, offer_papers=False))
        assert (manifest.offered, manifest.work) == (False, None)


def test_a_withdrawal_is_a_manifest_without_references_and_work():
    messages = handled(record(None, key=b"doi:10.5555/citing", version="9"))
    assert [message.topic for message in messages] == ["outcomes"]
    manifest = manifest_of(messages)
    assert (manifest.citing, manifest.paper_version, manifest.references, manifest.withdrawn) == (CITING, 9, (), True)
    assert (manifest.offered, manifest.work) == (True, None), "its catalog entry is to be removed"


@pytest.mark.parametrize("key", [None, b"", b"a.xml", b"\xff"])
def test_a_withdrawal_must_name_a_work(key: bytes | None):
    with pytest.raises(BadRecord, match=r"key of a withdrawal must be the paper's work id"):
        stage().decode(record(None, key=key))


def test_a_paper_without_identifiers_is_identified_by_its_key():
    nameless = XML.replace(b'<article-id pub-id-type="doi">10.5555/Citing</article-id>', b"")
    assert stage().decode(record(nameless, key=b"own-17"))[0].citing.endswith("own-17")


def test_the_same_batch_gives_the_same_output():
    parser = stage()
    records = [record(version="3"), record(None, key=b"doi:10.1/x"), record(zstandard.compress(XML), encoding="zstd")]
    first, second = ([parser.decode(each) for each in records] for _ in range(2))
    assert first == second
    assert parser.handle(first, NoView()) == parser.handle(first, NoView()) == parser.handle(second, NoView())


def test_a_divided_batch_has_the_output_of_the_whole():
    parser = stage()
    batch = [parser.decode(record(version=str(number))) for number in range(1, 6)]
    halves = Output()
    for part in (batch[:2], batch[2:]):
        halves.add(parser.handle(part, NoView()))
    assert halves == parser.handle(batch, NoView())


def test_references_are_counted_by_the_origin_of_their_fields():
    parser = stage()
    text = "Wang X. Growth of alpine plants in the north. J Ecol. 2004;92:1–9."
    refs = f"<ref><mixed-citation>{text}</mixed-citation></ref><ref><mixed-citation>As said</mixed-citation></ref>".encode()
    whole = XML.replace(b"</ref-list>", refs + b"</ref-list>")
    assert counted(parser, whole) == Counter(tagged=2, recognised=1, unrecognised=1)
    filling = b"<ref><mixed-citation>" + b"a" * 10_000 + b"</mixed-citation></ref>"
    assert counted(parser, whole.replace(b"</ref-list>", filling * 201 + b"</ref-list>")) == Counter(
        tagged=2, recognised=1, unrecognised=200, unread=2
    )


def counted(parser: ParserStage, xml: bytes) -> Counter[str]:
    return parser.handle([parser.decode(record(xml)), parser.decode(record(None, key=b"doi:10.1/a"))], NoView()).observed.parsed


# Versions


def test_the_version_is_the_header_or_the_timestamp():
    assert stage().decode(record(version="42"))[0].version == 42
    assert stage().decode(record())[0].version == ARRIVED


@pytest.mark.parametrize("text", ["", "-1", "1.0", "abc", " 1", "1" * 19, "٣", b"\xff"])
def test_a_bad_version_is_rejected(text: str | bytes):
    with pytest.raises(BadRecord, match="reflink-version"):
        stage().decode(record(version=text))


# Compression


@pytest.mark.parametrize(
    ("encoding", "value"),
    [
        ("identity", XML),
        ("gzip", gzip.compress(XML)),
        ("zstd", zstandard.compress(XML)),
        ("zstd", zstandard.ZstdCompressor(write_content_size=False).compress(XML)),
        ("zstd", zstandard.compress(XML[:100]) + zstandard.compress(XML[100:])),
        ("gzip", gzip.compress(XML[:100]) + gzip.compress(XML[100:])),
    ],
)
def test_each_encoding_is_read(encoding: str, value: bytes):
    assert stage().decode(record(value, encoding=encoding)) == stage().decode(record(XML))


def test_no_header_means_identity():
    with pytest.raises(NotAPaper):
        stage().decode(record(gzip.compress(XML)))


def test_an_empty_encoding_is_equivalent_to_no_header():
    assert stage().decode(record(encoding=""))[0].citing == CITING


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "brotli", "GZIP"])
def test_a_wrong_encoding_is_rejected(encoding: str):
    with pytest.raises(BadRecord, match="reflink-encoding"):
        stage().decode(record(encoding=encoding))


LONG = b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(20_000))


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("kept", [0.01, 0.5, 0.999])
def test_a_truncated_value_is_rejected(encoding: str, kept: float):
    whole = gzip.compress(LONG) if encoding == "gzip" else zstandard.ZstdCompressor(write_content_size=False).compress(LONG)
    assert decompress(whole, encoding, len(LONG)) == LONG
    with pytest.raises(BadRecord, match=f"is {encoding}, but the value is not"):
        decompress(whole[: int(len(whole) * kept)], encoding, len(LONG))


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@given(data=st.binary(min_size=1, max_size=200))
def test_any_bytes_are_a_paper_or_a_named_error(encoding: str, data: bytes):
    with pytest.raises(ReflinkError):
        stage().decode(record(data, encoding=encoding))


@pytest.mark.parametrize("encoding", ["identity", "gzip", "zstd"])
def test_a_paper_above_the_limit_of_bytes_is_rejected(encoding: str):
    data = {"identity": LONG, "gzip": gzip.compress(LONG), "zstd": zstandard.compress(LONG)}[encoding]
    assert decompress(data, encoding, len(LONG)) == LONG
    with pytest.raises(TooLarge, match="REFLINK_MAX_PAPER_BYTES"):
        decompress(data, encoding, len(LONG) - 1)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_decompression_bomb_is_not_unpacked(encoding: str):
    size, limit = 200_000_000, 1_000_000
    if encoding == "zstd":
        packer = zstandard.ZstdCompressor(level=1).compressobj()
        bomb = b"".join(packer.compress(bytes(1_000_000)) for _ in range(size // 1_000_000)) + packer.flush()
    else:
        bomb = gzip.compress(bytes(size // 10), 1) * 10
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            decompress(bomb, encoding, limit)
        assert tracemalloc.get_traced_memory()[1] < 20 * limit
    finally:
        tracemalloc.stop()


# Pointers


def pointer_to(path: str, data: bytes, **changes: object) -> PaperPointer:
    digest = hashlib.sha256(data).hexdigest()
    return PaperPointer.from_dict({"schema_version": 1, "path": path, "sha256": digest, "size": len(data), **changes})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.xml").write_bytes(XML)
    (tmp_path / "secret.xml").write_bytes(XML)
    (tmp_path / "papers-too").mkdir()
    (tmp_path / "papers-too" / "b.xml").write_bytes(XML)
    return folder


def test_a_pointer_is_replaced_by_its_file_in_the_given_encoding(root: Path):
    packed = zstandard.compress(XML)
    (root / "b.zst").write_bytes(packed)
    parser = stage(pointer_root=root)
    plain = parser.decode(record(pointer_to("in/a.xml", XML).to_json(), content="pointer"))
    zipped = parser.decode(record(pointer_to("b.zst", packed).to_json(), content="pointer", encoding="zstd"))
    assert plain == zipped == parser.decode(record())


@pytest.mark.parametrize(
    ("path", "link"),
    [
        ("../secret.xml", None),
        ("in/../../secret.xml", None),
        ("../papers-too/b.xml", None),
        ("{parent}/secret.xml", None),
        ("link", "{parent}/secret.xml"),
        ("link/secret.xml", "{parent}"),
    ],
)
def test_a_pointer_that_leaves_the_root_is_rejected(root: Path, path: str, link: str | None):
    if link is not None:
        (root / "link").symlink_to(link.format(parent=root.parent))
    with pytest.raises(BadRecord, match="leaves the allowed root"):
        fetch(pointer_to(path.format(parent=root.parent), XML), root, 10**6)


def test_the_root_itself_may_be_a_link(root: Path, tmp_path: Path):
    (tmp_path / "mounted").symlink_to(root)
    assert fetch(pointer_to("in/a.xml", XML), tmp_path / "mounted", 10**6) == XML


@pytest.mark.parametrize("changes", [{"sha256": "0" * 64}, {"size": len(XML) + 1}, {"size": 0}])
def test_a_file_that_differs_from_its_pointer_is_rejected(root: Path, changes: dict):
    with pytest.raises(BadRecord, match="size and SHA-256"):
        fetch(pointer_to("in/a.xml", XML, **changes), root, 10**6)


@pytest.mark.parametrize("path", ["gone.xml", "in", "in/a.xml/x", "", "a\x00b", "x" * 300])
def test_a_pointer_to_no_file_is_rejected(root: Path, path: str):
    size = (root / path).stat().st_size if path in ("in", "") else len(XML)
    with pytest.raises(BadRecord, match="pointer"):
        fetch(pointer_to(path, XML, size=size), root, 10**6)


def test_without_a_root_pointers_are_rejected():
    with pytest.raises(BadRecord, match="REFLINK_POINTER_ROOT"):
        stage().decode(record(pointer_to("a", XML).to_json(), content="pointer"))


def test_a_fifo_is_rejected_without_waiting(root: Path):
    os.mkfifo(root / "pipe")
    with pytest.raises(BadRecord):
        fetch(pointer_to("pipe", b""), root, 10**6)


def test_links_in_a_circle_are_rejected(root: Path):
    (root / "a").symlink_to(root / "b")
    (root / "b").symlink_to(root / "a")
    with pytest.raises(BadRecord, match="pointer 'a'"):
        fetch(pointer_to("a", XML), root, 10**6)


def test_a_file_above_the_limit_is_not_read(root: Path):
    assert fetch(pointer_to("in/a.xml", XML), root, len(XML)) == XML
    with pytest.raises(TooLarge, match="REFLINK_MAX_PAPER_BYTES"):
        fetch(pointer_to("in/a.xml", XML), root, len(XML) - 1)


@pytest.mark.parametrize("content", ["json", "POINTER"])
def test_other_content_is_rejected(content: str):
    with pytest.raises(BadRecord, match="reflink-content"):
        stage().decode(record(content=content))


@pytest.mark.parametrize("value", [b"", b"{}", b"<html/>", b"\x00"])
def test_a_value_that_is_not_a_paper_is_rejected(value: bytes):
    with pytest.raises(NotAPaper):
        stage().decode(record(value))


def test_the_parser_declares_the_topics_it_writes():
    written = {message.topic for message in handled(record(), record(None, key=b"doi:10.1/a"))}
    assert written <= set(ParserStage.outputs) <= set(TOPICS)


# Limits and inferred fields


def test_more_references_than_the_limit_are_rejected():
    assert stage(max_references=2).decode(record())[0].paper is not None
    with pytest.raises(TooLarge, match="more than 1 references"):
        stage(max_references=1).decode(record())


def test_deeper_elements_than_the_limit_are_rejected():
    deep = XML.replace(b"</article-title>", b"<b>" * 20 + b"</b>" * 20 + b"</article-title>")
    assert stage().decode(record(deep))[0].paper is not None
    with pytest.raises(TooLarge, match="deeper than 12"):
        stage(max_depth=12).decode(record(deep))


def test_fields_are_inferred_unless_the_setting_is_off():
    text = b"Wang X, Li Y. Deep learning for plant disease detection. Plant Methods. 2019;15(2):100-110."
    bare = XML.replace(b"Doe J. First work. <source>J Firsts</source> <year>2001</year>", text)
    first = stage().decode(record(bare))[0].paper.references[0]
    assert (first.inferred.year, first.inferred.volume, first.inferred.last_names) == (2019, "15", ("Wang", "Li"))
    assert (first.year, first.volume, first.last_names) == (None, None, ())
    assert stage(infer_fields=False).decode(record(bare))[0].paper.references[0].inferred is None
    assert stage().decode(record())[0].paper.references[0].inferred is None


# Contexts and formats

TEXT = XML.replace(
    b"<back>",
    b"""<body><sec><title>Results</title><p>It grew. As others found<xref ref-type="bibr" rid="B1">1</xref>, it shrank.
So it was.
</p></sec></body><back>""",
)


def contexts_in(messages: list[Message]) -> dict[str, ContextsEvent]:
    events = [ContextsEvent.from_json(each.value or b"") for each in messages if each.topic == "contexts"]
    return {event.reference: event for event in events}


def test_contexts_are_published_for_each_reference_if_the_setting_is_on():
    messages = handled(record(TEXT, version="3"), contexts=True)
    found = contexts_in(messages)
    assert list(found) == [f"{CITING}#B1.1", f"{CITING}#B2.1"]
    (context,) = found[f"{CITING}#B1.1"].contexts
    assert (context.section, context.before, context.after) == (("Results",), "It grew.", "So it was.")
    assert context.sentence.startswith("As others found")
    assert found[f"{CITING}#B2.1"].contexts == ()
    assert {(event.citing, event.paper_version, event.arrived) for event in found.values()} == {(CITING, 3, ARRIVED)}
    keys = {(each.key, each.partition_key) for each in messages if each.topic == "contexts"}
    assert keys == {(reference.encode(), CITING.encode()) for reference in found}
    assert handled(record(TEXT)) == [each for each in handled(record(TEXT), contexts=True) if each.topic != "contexts"]


def test_contexts_of_a_reference_fit_into_a_record():
    sentence = f"<p>{'ö' * 900} <xref rid='B1'>1</xref>. {'ü' * 900}. </p>".encode()
    messages = handled(record(TEXT.replace(b"<p>", sentence * 400 + b"<p>", 1)), contexts=True)
    (event,) = (each for each in messages if each.topic == "contexts" and each.key == f"{CITING}#B1.1".encode())
    assert event.size() <= TOPICS["contexts"].max_message_bytes
    assert contexts_in([event])[f"{CITING}#B1.1"].contexts


def test_the_header_overrides_the_content():
    (found,) = stage().decode(record(format="jats"))
    assert found.format_name == "jats"
    with pytest.raises(BadRecord, match="reflink-format: 'docx' is not one of jats"):
        stage().decode(record(format="docx"))
