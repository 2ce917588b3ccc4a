"""A whole demo: four worker processes on a real broker, two waves of papers, and everything gone afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kafka import KafkaAdminClient

from reflink.entities import Ids, Work
from reflink.errors import NotAPaper
from workers.local.broker import Broker
from workers.local.demonstration import Demonstration

ARTICLE = """<article><front>
<journal-meta><journal-title-group><journal-title>Annals of Testing</journal-title></journal-title-group></journal-meta>
<article-meta><article-id pub-id-type="doi">10.5555/{doi}</article-id>
<title-group><article-title>{title}</article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Lovelace</surname></name></contrib></contrib-group>
<pub-date><year>2019</year></pub-date><volume>4</volume><fpage>11</fpage></article-meta></front>
<back><ref-list>{references}</ref-list></back></article>"""
CITATION = '<ref id="{id}"><element-citation publication-type="journal"><person-group><name><surname>{name}</surname></name>\
</person-group><article-title>{title}</article-title><source>{source}</source><year>{year}</year>{more}</element-citation></ref>'

FIRST = "On the weaving of algebraical patterns by engines"
WORK = Work(
    id="doi:10.5555/work",
    ids=Ids(doi="10.5555/work"),
    title="Measurements of tidal friction in shallow northern seas",
    authors=("Jeffreys",),
    venue="Tides",
    year=1921,
)


def citation(id: str, name: str, title: str, source: str, year: int, doi: str = "") -> str:
    more = f'<pub-id pub-id-type="doi">{doi}</pub-id>' if doi else ""
    return CITATION.format(id=id, name=name, title=title, source=source, year=year, more=more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert WORK.title is not None
    tides = citation("r1", "Jeffreys", WORK.title, "Tides", 1921, "10.5555/work")
    cites_first = citation("r1", "Lovelace", FIRST, "Annals of Testing", 2019)
    unknown = citation("r2", "Nobody", "A treatise that no catalog has ever heard of", "Elsewhere", 1850)
    for wave, name, text in (
        ("1-first", "one.xml", ARTICLE.format(doi="one", title=FIRST, references=tides)),
        ("2-second", "two.xml", ARTICLE.format(doi="two", title="Looms revisited", references=cites_first + unknown)),
        ("2-second", "poem.xml", "so much depends upon a red wheel barrow"),
    ):
        (tmp_path / "papers" / wave).mkdir(parents=True, exist_ok=True)
        (tmp_path / "papers" / wave / name).write_text(text)
    (tmp_path / "works.jsonl").write_bytes(WORK.to_json() + b"\n")
    return tmp_path


def names_on(broker: Broker) -> set[str]:
    admin = KafkaAdminClient(bootstrap_servers=broker.address)
    try:
        groups = {str(group["group_id"]) for group in admin.list_groups()}
        return {name for name in {*admin.list_topics(), *groups} if name.startswith("reflink-demo-")}
    finally:
        admin.close()


def test_papers_go_in_and_the_expected_links_come_out(broker: Broker, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    references = {
        "doi:10.5555/one#r1.1": "doi:10.5555/work",
        "doi:10.5555/two#r1.1": "doi:10.5555/one",
        "doi:10.5555/two#r2.1": None,
    }
    expected = folder / "expected.json"
    expected.write_text(json.dumps({"references": references, "dead_letters": ["poem.xml"]}))
    summary = folder / "summary.json"
    demonstration = Demonstration(
        papers=folder / "papers", catalog=folder / "works.jsonl", expected=expected, json=summary, brokers=broker.address
    )
    assert demonstration.run() == 0, capsys.readouterr().out
    said = capsys.readouterr()
    assert "all 3 references and 1 dead letters are as" in said.out
    assert FIRST in said.out, "a link in full, to a paper of the first wave"
    assert "1-first: papers 1/1 parsed, references 1/1 settled: 1 linked" in said.err
    fields = json.loads(summary.read_text())
    assert (fields["papers"], fields["references"], sum(fields["linked"].values())) == (3, 3, 2)
    assert fields["differences"] == []
    assert fields["busy"].keys() == {"parser", "linker", "fallback", "ledger"}
    assert names_on(broker) == set()


def test_a_folder_without_papers_is_an_error_before_anything_starts(folder: Path) -> None:
    (folder / "papers" / "3-empty").mkdir()
    with pytest.raises(NotAPaper, match=r"3-empty: no \.xml or \.nxml file in this folder"):
        Demonstration(papers=folder / "papers", catalog=folder / "works.jsonl", brokers="nobody.invalid:1").run()
