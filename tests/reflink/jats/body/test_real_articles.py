"""The text of the real articles: every citation link is a mention, with its exact text."""

from __future__ import annotations

from collections import Counter

from lxml import etree

from reflink.formats import Content, Options, parse
from reflink.jats import parse as parse_paper
from tests.data import jats_folder

#: Every tenth article in `make test`.
_STEP = 10


def _links(data: bytes) -> Counter[str]:
    """Return the texts of the links of type bibr, read plainly."""
    parser = etree.XMLParser(recover=True, resolve_entities=False, huge_tree=True, remove_comments=True, remove_pis=True)
    root = etree.fromstring(data, parser)
    links = (each for each in root.iter("{*}xref") if each.get("ref-type") == "bibr")
    return Counter(" ".join("".join(each.itertext()).split()) for each in links)


def test_every_citation_link_of_real_articles_is_a_mention_of_a_reference():
    links = resolved = mentions = 0
    for path in sorted(jats_folder().glob("*.xml"))[::_STEP]:
        data = path.read_bytes()
        papers = parse(Content(data, "x"), options=Options(infer=False, text=True))
        assert papers[0].paper == parse_paper(data, source="x", infer=False)
        texts = Counter(
            each.text[one.start : one.stop] for found in papers for each in found.paragraphs for one in each.mentions
        )
        expected = _links(data)
        assert not expected - texts, path.name
        links += expected.total()
        mentions += texts.total()
        for found in papers:
            entries = {reference.xml_id for reference in found.paper.references}
            resolved += sum(not entries.isdisjoint(one.entries) for each in found.paragraphs for one in each.mentions)
    assert mentions >= links > 5_000
    assert resolved / mentions >= 0.999
