"""The parser's stage: valid and invalid records of ``papers``, and its output for them."""

from __future__ import annotations

from collections import Counter

import pytest
import zstandard

from reflink.errors import BadRecord, NotAPaper, TooLarge
from schemas import ContextsEvent, ManifestEvent, ReferenceEvent
from workers.config.settings import ParserSettings
from workers.kafka.topics import TOPICS
from workers.papers.stage import ParserStage
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


# Records that are not papers


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
