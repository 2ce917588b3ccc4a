"""Tests of the training data and of the training command."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest
from lxml import etree

from reflink import jats
from reflink.recognition import labels as tag
from reflink.recognition.crf import HashedTagger
from reflink.recognition.labelled import Labelled, label, prose, read
from reflink.recognition.labels import LABELS
from reflink.recognition.styles import render
from reflink.recognition.tokens import tokenise
from reflink.recognition.training import TRAINERS, articles, corpus, file_of, fold_of, main
from reflink.text import normalise
from tests.data import jats_folder, shared_data
from tests.reflink.recognition.corpus_files import TEI, anystyle_file, archive

CITATION = """<mixed-citation publication-type="journal">
<name><surname>van den Berg</surname> <given-names>J. P.</given-names></name>
<name><surname>Wang</surname> <given-names>X.</given-names></name> (<year>2004a</year>).
<article-title>Plants of the Alps: a <italic>Review</italic>.</article-title> <source>J. Ecol.</source>
<volume>Vol. 92</volume>, <fpage>12</fpage>–<lpage>9</lpage>. <comment>Accessed 3 May 2005</comment>
<pub-id pub-id-type="doi">10.1000/xyz</pub-id></mixed-citation>"""


def labelled(xml: str) -> Labelled:
    found = label(etree.fromstring(xml))
    assert found is not None
    return found


def by_label(citation: Labelled) -> dict[str, str]:
    words = tokenise(citation.text).words
    return {
        LABELS[mark]: " ".join(word for word, label in zip(words, citation.labels, strict=True) if label == mark)
        for mark in set(citation.labels)
    }


def test_tags_become_labels():
    citation = labelled(CITATION)
    assert citation.text == (
        "van den Berg J. P., Wang X. (2004a). Plants of the Alps: a Review. J. Ecol. Vol. 92, 12–9. Accessed 3 May 2005"
    )
    found = by_label(citation)
    assert found["L"] == "van den Berg Wang"
    assert found["A"].split() == ["J", ".", "P", ".", ",", "X", "."]
    assert found["T"] == "Plants of the Alps : a Review"
    assert (found["V"], found["Y"], found["N"], found["F"], found["E"]) == ("J . Ecol", "2004", "92", "12", "9")
    assert citation.printed
    assert citation.names == [("van den Berg", "J. P."), ("Wang", "X.")]


def test_editors_have_a_separate_label():
    found = by_label(
        labelled(
            "<mixed-citation><person-group person-group-type='author'><name><surname>A</surname> <given-names>B</given-names>"
            "</name></person-group>. <chapter-title>Part one</chapter-title>. In: <person-group person-group-type='editor'>"
            "<name><surname>C</surname> <given-names>D</given-names></name></person-group>, ed. <source>Book</source>. "
            "<publisher-loc>Rome</publisher-loc>: <publisher-name>Press</publisher-name>; <year>1999</year>.</mixed-citation>"
        )
    )
    assert (found["L"], found["D"], found["T"], found["V"]) == ("A", "C D", "Part one", "Book")
    assert found["P"] == "Rome Press"


def test_an_article_number_tagged_as_issue_is_labelled_as_page():
    found = by_label(
        labelled(
            "<mixed-citation><name><surname>Abe</surname> <given-names>B.</given-names></name> (<year>2017</year>). "
            "<article-title>Plants</article-title>. <source>Euphytica</source> <volume>213</volume>:<issue>184</issue>."
            "</mixed-citation>"
        )
    )
    assert found["F"] == "184"
    assert "I" not in found


def test_fields_without_punctuation_are_not_usable_as_printed():
    citation = labelled(
        "<element-citation><name><surname>Abe</surname><given-names>B</given-names></name><year>2017</year><article-title>Plants"
        "</article-title><source>Euphytica</source><volume>213</volume><fpage>1</fpage></element-citation>"
    )
    assert not citation.printed
    assert citation.fields[tag.V] == "Euphytica"


def test_a_citation_with_an_undivided_name_is_not_used():
    xml = "<mixed-citation><string-name>Wang X</string-name>. Plants. J Ecol, 2004.</mixed-citation>"
    assert label(etree.fromstring(xml)) is None


def some_articles() -> list[Path]:
    return sorted(jats_folder().glob("*.xml"))[::100]


def test_labelled_texts_equal_the_texts_of_the_parser():
    ours, theirs = set(), set()
    for path in some_articles():
        try:
            paper = jats.parse(path.read_bytes(), source=path.name)
        except jats.NotAPaper:
            continue
        theirs |= {normalise(reference.raw_query, lexical=False) for reference in paper.references}
        ours |= {normalise(citation.text, lexical=False) for citation in read(path)}
    assert len(ours) > 200
    assert len(ours & theirs) >= 0.9 * len(ours)


def test_every_word_keeps_its_label_in_a_new_style():
    records = [citation for path in some_articles() for citation in read(path)]
    people = [record for record in records if record.names]
    rng = random.Random(1)
    made = [(record, new) for record in records if (new := render(record, people, rng)) is not None]
    assert len(made) > 200
    for record, new in made:
        words = tokenise(new.text).words
        assert len(words) == len(new.labels)
        for name, mark in (("year", tag.Y), ("volume", tag.N)):
            printed = [word for word, found in zip(words, new.labels, strict=True) if found == mark]
            assert "".join(printed) in ("", "".join(tokenise(record.fields.get(mark, "")).words)), (name, new.text)
    assert len({new.text for _, new in made}) > 0.9 * len(made)
    assert [render(record, people, random.Random(2)) for record, _ in made[:20]] == [
        render(record, people, random.Random(2)) for record, _ in made[:20]
    ]


def test_a_file_that_is_not_xml_is_ignored(tmp_path: Path):
    path = tmp_path / "a.xml"
    path.write_text("no XML at all")
    assert list(read(path)) == list(prose(path)) == []


def test_prose_is_found():
    assert any(len(text) > 100 for path in some_articles() for text in prose(path))


def test_a_publisher_is_in_one_fold():
    assert fold_of("BMJ Publishing Group") == fold_of("BMJ Publishing Group Ltd.") == fold_of("bmj  publishing group")
    assert {fold_of(f"publisher{number}") for number in range(50)} == {0, 1, 2, 3, 4}


def manifest(folder: Path, files: list[Path]) -> Path:
    table = folder / "manifest.tsv"
    with table.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out, delimiter="\t")
        rows.writerow(["file", "publisher"])
        rows.writerows([path.name, f"publisher{at}"] for at, path in enumerate(files))
    return table


def test_each_article_is_in_exactly_one_fold(tmp_path: Path):
    files = some_articles()
    table = manifest(tmp_path, files)
    taken = {fold: set(articles(jats_folder(), table, {fold})) for fold in range(5)}
    assert set.union(*taken.values()) == set(files)
    assert sum(map(len, taken.values())) == len(files)


def test_the_corpus_has_citations_several_works_and_prose():
    made = corpus(some_articles(), random.Random(3))
    assert all(len(citation.labels) == len(tokenise(citation.text).words) for citation in made)
    assert any(set(citation.labels) == {tag.O} for citation in made)
    assert any(citation.labels.count(tag.Y) > 1 for citation in made)


def arguments(folder: Path, out: Path, count: int) -> list[str]:
    table = manifest(folder, some_articles()[:count])
    corpora = ["--anystyle", str(anystyle_file(folder)), "--grobid", str(archive(folder, a=TEI))]
    return ["--jats", str(jats_folder()), "--manifest", str(table), *corpora, "--out", str(out)]


def test_training_is_reproducible(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    shared_data()
    outs = [tmp_path / "a", tmp_path / "b"]
    for out in outs:
        assert main([*arguments(tmp_path, out, 6), "--tagger", "crf"]) == 0
        assert [path.name for path in out.iterdir()] == [file_of("crf", None)]
    assert (outs[0] / "crf.npz").read_bytes() == (outs[1] / "crf.npz").read_bytes()
    losses = [float(line.split("loss ")[1].split()[0]) for line in capsys.readouterr().out.splitlines() if "loss" in line]
    assert losses[0] > losses[2] > 0
    assert HashedTagger.read((outs[0] / "crf.npz").read_bytes(), "crf").weights.any()


def test_a_tagger_of_each_fold_is_trained_without_it(tmp_path: Path):
    shared_data()
    assert main([*arguments(tmp_path, tmp_path / "folds", 4), "--cross-validate"]) == 0
    for tagger in TRAINERS:
        files = [tmp_path / "folds" / file_of(tagger, fold) for fold in range(5)]
        assert len({path.read_bytes() for path in files}) > 1
    assert len(list((tmp_path / "folds").iterdir())) == 10
