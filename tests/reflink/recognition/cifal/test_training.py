"""Tests of the samples and of the command."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from reflink.errors import ReflinkError
from reflink.recognition.cifal.generated import generate
from reflink.recognition.cifal.samples import LONGEST, Sources, draw
from reflink.recognition.cifal.training import VARIANTS, describe, main
from reflink.recognition.corpora import anystyle, folds
from reflink.recognition.labelled import Labelled
from reflink.recognition.labels import V
from reflink.recognition.tokens import tokenise
from reflink.recognition.training import fold_of
from tests.reflink.recognition.cifal.invented import NAMES, TOPICS, VENUES
from tests.reflink.recognition.corpus_files import archive


def made_up(rng: random.Random) -> tuple[str, str, str, str]:
    title = " ".join("".join(rng.choice("aeiounrst") for _ in range(7)) for _ in range(6)).capitalize()
    return rng.choice(NAMES), title + rng.choice(TOPICS), rng.choice(VENUES), str(rng.randint(1950, 2020))


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    folder, rng = tmp_path_factory.mktemp("sources"), random.Random(1)
    own = [made_up(rng) for _ in range(60)]
    sequences = "".join(
        f"<sequence><author>{name}, A.</author><date>({year}).</date><title>{title}.</title><journal>{venue}.</journal>"
        "</sequence>"
        for name, title, venue, year in own
    )
    (folder / "core.xml.gz").write_bytes(gzip.compress(f"<dataset>{sequences}</dataset>".encode()))
    bibls = "".join(
        f'<bibl><author>A. {name}</author>, <title level="a">{title}</title>, <title level="j">{venue}</title> '
        f"<date>{year}</date></bibl>"
        for name, title, venue, year in (made_up(rng) for _ in range(60))
    )
    archive(folder, mixed=f"<TEI><text><listBibl>{bibls}</listBibl></text></TEI>")
    rows = ["file\tpublisher"]
    for number in range(30):
        refs = "".join(
            f"<ref><mixed-citation><name><surname>{name}</surname> <given-names>A</given-names></name>. <article-title>{title}"
            f"</article-title>. <source>{venue}</source>. <year>{year}</year>;<volume>{number}</volume>.</mixed-citation></ref>"
            for name, title, venue, year in (made_up(rng) for _ in range(4))
        )
        (folder / f"{number}.xml").write_text(f"<article><back><ref-list>{refs}</ref-list></back></article>")
        rows.append(f"{number}.xml\tpublisher {number}")
    (folder / "MANIFEST.tsv").write_text("\n".join(rows) + "\n")
    return Sources(folder / "core.xml.gz", folder / "corpus.tar.gz", folder, folder / "MANIFEST.tsv")


def test_samples_come_from_their_folds(sources: Sources):
    samples = draw(sources, 45, 20, 3)
    assert (len(samples.task), len(samples.validation), len(samples.generated)) == (45, 9, 20)
    texts = [citation.text for citation in anystyle(sources.anystyle)]
    from reflink.recognition.corpora import grobid

    texts += [citation.text for citation in grobid(sources.grobid)]
    fold = dict(zip(texts, folds(texts), strict=True))
    assert {fold[citation.text] for citation in samples.task if citation.text in fold} == {2, 3, 4}
    assert {fold[citation.text] for citation in samples.validation if citation.text in fold} == {1}
    volumes = {number: fold_of(f"publisher {number}") for number in range(30)}
    others = [citation for citation in samples.task if citation.text not in fold]
    assert len(others) == 15
    assert {volumes[int(citation.text.split(";")[1].rstrip("."))] for citation in others} <= {2, 3, 4}
    assert [citation.text for citation in draw(sources, 45, 20, 3).task] == [citation.text for citation in samples.task]
    assert [citation.text for citation in draw(sources, 45, 20, 4).task] != [citation.text for citation in samples.task]


def test_generated_citations_have_a_venue_and_a_label_for_each_token(sources: Sources):
    generated = draw(sources, 45, 1000, 3).generated
    assert 20 < len(generated) < 1000
    for citation in generated:
        assert V in citation.labels
        assert len(citation.labels) == len(tokenise(citation.text).words) <= LONGEST
    assert generate([], 5, LONGEST, random.Random(1)) == []


def test_anchors_are_described():
    citations = [Labelled("Abe A. Ecology", [1, 2, 0, V], True), Labelled("Abe A. Ecology", [1, 2, 0, V], True)]
    found = describe(citations, [frozenset({3}), frozenset({0, 3})])
    assert found == {
        "anchors_of_a_generated_citation": 1.5, "share_in_venues": 2 / 3, "most_frequent": [("Ecology", 2), ("Abe", 1)],
    }  # fmt: skip


def test_the_command_trains_every_variant_and_continues_where_it_stopped(
    sources: Sources, tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    command = [
        "--anystyle", str(sources.anystyle), "--grobid", str(sources.grobid), "--jats", str(sources.jats), "--manifest",
        str(sources.manifest), "--out", str(tmp_path), "--encoder", str(tiny), "--labels", "30", "--generated", "12",
        "--epochs", "1", "--frozen", "2",
    ]  # fmt: skip
    assert main(command) == 0
    names = {f"{variant}-1.safetensors" for variant in VARIANTS}
    assert names <= {path.name for path in tmp_path.iterdir()}
    weights = {name: load_file(tmp_path / name) for name in names}
    without, anchored = (weights[f"{variant}-1.safetensors"] for variant in ("fine-tune", "anchor"))
    assert not torch.equal(without["scores.weight"], anchored["scores.weight"])
    capsys.readouterr()
    (tmp_path / "anchor-1.safetensors").unlink()
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "anchor, seed 1: fine-tuning" in said
    assert "random, seed 1" not in said
    assert "task-guided" not in said
    for name, own in weights.items():
        again = load_file(tmp_path / name)
        assert all(torch.equal(value, again[part]) for part, value in own.items())
    with pytest.raises(ReflinkError, match="other settings"):
        main([*command, "--epochs", "2"])
