"""The benchmark of the keys: what it calls found, woken and in vain."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from benchmarks.linking.keys import family, main, one_of, recall, wakes
from reflink.entities import Ids, Reference, Work
from reflink.evaluation.records import Listing

ARTICLE = """<article><front><article-meta><article-id pub-id-type="doi">10.1000/citing</article-id></article-meta></front>
<back><ref-list>
<ref id="a"><element-citation><article-title>A long enough title about keys</article-title></element-citation></ref>
<ref id="b"><element-citation><article-title>Another title, also long enough</article-title></element-citation></ref>
</ref-list></back></article>"""


def test_the_family_of_a_key_is_how_it_begins() -> None:
    assert [family(key) for key in ("doi:10.1/t:x", "pmid:1", "t:title", "y:2001:1:2")] == ["id", "id", "t", "y"]


def test_works_are_one_by_group_and_by_identifier() -> None:
    works = [Work(id="a", ids=Ids(pmid="1")), Work(id="b", ids=Ids(pmid="1")), Work(id="c"), Work(id="d")]
    one = one_of(Listing(work, group) for work, group in zip(works, ("a", "b", "b", "d"), strict=True))
    assert one["a"] == one["b"] == one["c"] != one["d"]


def test_recall_is_of_any_family_and_of_all_but_each() -> None:
    found = recall([frozenset("ab"), frozenset("a"), frozenset(), frozenset("b")])
    assert found["found, %"] == 75
    assert (found["a, %"], found["without a, %"], found["without b, %"]) == (50, 50, 50)


def test_a_reference_is_woken_in_vain_by_a_work_that_it_is_not_linked_to() -> None:
    offered = {"w": ("t:x", "n:x"), "same": ("t:x",), "other": ("t:x",), "none": ("t:y",)}
    one = {"w": "w", "same": "w", "other": "other", "none": "none"}
    title = "The shape of things to come"
    works = {name: Work(id=name, title=title if name in ("w", "same") else "Quite another matter, at length") for name in one}
    references = [Reference(id=f"c#{name}", citing="c", position=1, title=title) for name in "abc"]
    found = wakes(offered, [("t:x",), ("n:x", "t:x"), ("t:z",)], ["w", None, None], one, works, references)
    assert (found["verdict: meant ones that it lets pass, %"], found["verdict: in vain, mean"]) == (100, 2 / 4)
    assert found["woken by a work, mean"] == 6 / 4
    assert (found["in vain, mean"], found["in vain, most"]) == (4 / 4, 2)
    assert (found["works that wake nothing, %"], found["works that wake nothing in vain, %"]) == (25, 25)
    assert found["in vain by t alone, mean"] == 3 / 4


def test_it_runs_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "articles").mkdir()
    (tmp_path / "articles" / "one.xml").write_text(ARTICLE)
    (tmp_path / "articles" / "two.xml").write_text(ARTICLE.replace("citing", "second"))
    works = [{"id": "w1", "title": "A long enough title about keys", "year": 2001}, {"id": "w2", "title": "Something else"}]
    (tmp_path / "works.jsonl").write_bytes(b"\n".join(map(orjson.dumps, works)))
    label = {"id": "q", "citing": "c", "title": "Long enough title about keys", "work": "w1", "raw_text": "Keys"}
    (tmp_path / "references.jsonl").write_bytes(orjson.dumps(label))
    link = {"reference": "doi:10.1000/citing#a.1", "cited": "w1", "method": "lexical"}
    (tmp_path / "links.jsonl").write_bytes(orjson.dumps(link))
    names = {"--articles": "articles", "--links": "links.jsonl", "--works": "works.jsonl", "--references": "references.jsonl"}
    where = [part for option, name in names.items() for part in (option, str(tmp_path / name))]
    main([*where, "--rounds", "1", "--json", str(tmp_path / "out.json")])
    results = orjson.loads((tmp_path / "out.json").read_bytes())["results"]
    assert results["linked"]["references"] == results["linked"]["t, %"] / 100 == 1
    assert results["labelled, no identifiers"]["found, %"] == 100
    assert results["labelled, as written"]["found, %"] == 0
    everything = results["wakes, 100% of the articles"]
    assert everything["waiting references"] == 4
    # The second article cites it too, and is not linked.
    assert (everything["woken by a work, mean"], everything["in vain, mean"]) == (1.0, 0.5)
    assert "cost of a work" in capsys.readouterr().out
