"""The fuzzer itself, and a few thousand of its inputs; a million are run by ``python -m tests.campaigns.fuzz``."""

from __future__ import annotations

import importlib.util
import json
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest

from reflink.entities import Ids, Paper, Reference
from reflink.errors import NotAPaper
from reflink.jats import parse
from tests.campaigns.fuzz import campaign, checks, guided, plain
from tests.campaigns.fuzz.__main__ import main
from tests.campaigns.fuzz.campaign import Articles, Campaign, Plan, Tally
from tests.campaigns.fuzz.checks import Broken, check
from tests.campaigns.fuzz.memory import growth
from tests.campaigns.fuzz.minimise import minimise
from tests.campaigns.fuzz.mutations import generate, mutate
from tests.campaigns.fuzz.seeds import Corpus
from tests.data import jats_folder
from tests.reflink.jats.articles import article

SEED = 1
RUNS = 2_500

MADE_UP = Corpus.read(None)
GOOD = article(
    '<ref id="a"><citation>First, one</citation></ref>'
    '<ref id="b"><citation>Second <pub-id pub-id-type="doi">10.1000/12</pub-id></citation></ref>'
)


@cache
def corpus() -> Corpus:
    """Every tenth of the real articles."""
    return Corpus.read(jats_folder(), every=10)


def broken(numbers: range) -> list[str]:
    found = []
    for number in numbers:
        item = generate(corpus(), SEED, number)
        try:
            check(item.data, item.source, item.limits)
        except Broken as error:
            found.append(f"{number} {item.mutations}: {error}"[:400])
    return found


def test_a_few_thousand_inputs() -> None:
    assert broken(range(RUNS)) == []


def test_real_articles_obey_every_law() -> None:
    for number in range(0, len(corpus().articles), 5):
        data = corpus().articles[number].data
        assert check(data.read_bytes() if isinstance(data, Path) else data, "real.xml").name == "Paper"


def test_an_input_is_its_seed_and_number() -> None:
    twice = [[generate(MADE_UP, 7, number) for number in range(300)] for _ in range(2)]
    assert twice[0] == twice[1]
    assert len({item.data for item in twice[0]}) > 250
    assert generate(MADE_UP, 8, 0) != generate(MADE_UP, 7, 0)


def test_each_mutation_takes_anything() -> None:
    for number, data in enumerate((b"", b"<", b"<a", b"<a>", b"x", b"\0", b"\xff" * 20, b"<a b='", GOOD)):
        for seed in range(400):
            assert isinstance(mutate(Random(f"{number}:{seed}"), data), bytes)


# The oracle must find defects: each test breaks the parser in one way.


def wrong(monkeypatch: pytest.MonkeyPatch, change: Callable[[Paper], Paper]) -> str:
    """Return the law that is broken if the parser changes its papers in this way."""
    monkeypatch.setattr(checks, "parse", lambda data, **options: change(parse(data, **options)))
    with pytest.raises(Broken) as found:
        check(GOOD, "test.xml")
    return found.value.law


def cited(paper: Paper, at: int, **values: object) -> Paper:
    references = list(paper.references)
    references[at] = references[at].model_copy(update=values)
    return paper.model_copy(update={"references": tuple(references)})


def test_a_good_parser_breaks_no_law() -> None:
    outcome = check(GOOD, "test.xml")
    assert (outcome.name, outcome.references, outcome.confirmed) == ("Paper", 2, True)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize(("change", "law"), [
    (lambda paper: cited(paper, 0, id="x#y"), "citing"),
    (lambda paper: cited(paper, 0, position=7), "positions"),
    (lambda paper: cited(paper, 0, raw_text="First, one and more"), "text"),
    (lambda paper: cited(paper, 0, raw_text="First, \x01one"), "characters"),
    (lambda paper: cited(paper, 0, raw_text="First,\none"), "lines"),
    (lambda paper: cited(paper, 0, venue=" "), "blank"),
    (lambda paper: cited(paper, 0, raw_noid="First, doi:10.1000/1"), "stripped"),
    (lambda paper: cited(paper, 0, ids=Ids(doi="10.1000/X")), "normalised"),
    (lambda paper: cited(paper, 0, ids=Ids(pmid="1"), ids_weak=Ids(pmid="2")), "weak"),
    (lambda paper: cited(paper, 0, year=999), "year"),
    (lambda paper: cited(paper, 0, year="1999"), "contract"),
    (lambda paper: cited(paper, 0, raw_text="\ud800"), "encodes"),
    (lambda paper: cited(paper, 0, xml_id="b"), "text"),
    (lambda paper: cited(paper, 1, id=paper.references[0].id), "unique"),
    (lambda paper: cited(paper, 1, ids=Ids()), "doi"),
    (lambda paper: paper.model_copy(update={"references": paper.references[:1]}), "lost"),
    (lambda paper: paper.model_copy(update={"title": str(uuid4())}), "deterministic"),
])  # fmt: skip
def test_wrong_papers_are_found(monkeypatch: pytest.MonkeyPatch, change: Callable[[Paper], Paper], law: str) -> None:
    assert wrong(monkeypatch, change) == law


def test_text_of_other_files_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_SECRETS", ("the secret of the file",))
    assert wrong(monkeypatch, lambda paper: paper.model_copy(update={"title": "Is the secret of the file here?"})) == "external"


@pytest.mark.parametrize(("message", "law"), [
    ("test.xml: no", "refused"),
    ("other.xml: no", "message"),
    ("test.xml:\nno", "message"),
])  # fmt: skip
def test_refusals_without_reason_source_or_line_are_found(monkeypatch: pytest.MonkeyPatch, message: str, law: str) -> None:
    def refuse(paper: Paper) -> Paper:
        raise NotAPaper(message)

    assert wrong(monkeypatch, refuse) == law


def test_other_errors_are_found_with_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "parse", lambda data, **options: Reference.from_json(b"{}"))
    with pytest.raises(Broken, match="raises: BadRecord") as found:
        check(GOOD, "test.xml")
    assert found.value.signature == "raises BadRecord in entity_base.from_json"


def test_the_plain_reading_knows_its_bounds() -> None:
    def reading(refs: str) -> plain.Plain | None:
        return plain.read(article(refs))

    text = "<mixed-citation><label>1</label>A&amp;b <fn>no</fn><italic>C</italic>, d.</mixed-citation>"
    assert reading(f'<ref id=" r ">{text}</ref>') == plain.Plain(True, (plain.Entry("r", ("AbCd",), None),))
    assert reading("<ref>Bare <year>2004</year></ref>") == plain.Plain(True, (plain.Entry(None, ("Bare2004",), None),))
    assert plain.read(b"<article><p/></article>") == plain.Plain(False, ())
    for tangled in ("<ref><ref/></ref>", "<citation><citation/></citation>", "<x:ref xmlns:x='u'/>", "&eacute;", "<ref>"):
        assert reading(tangled) is None


def test_the_least_input_is_found() -> None:
    data = b"<a><b>one</b>" + b"<c>two</c>" * 30 + b"<d>needle</d></a>"
    assert minimise(data, lambda part: b"needle" in part and b"<a" in part) == b"<aneedle"


# Campaigns: a crash or hang of the parser must not end the campaign.


def run(plan: Plan) -> tuple[Campaign, Tally]:
    made = Campaign(Articles(MADE_UP), plan)
    return made, made.run()


def test_a_campaign_runs_each_input_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def odd(data: bytes, source: str | None, limits: object) -> checks.Outcome:
        if source == "fuzz-13.xml":
            raise Broken("odd", "thirteen")
        return checks.Outcome("Paper", 1, 0.0, True)

    monkeypatch.setattr(campaign, "check", odd)
    made, tally = run(Plan(seed=1, runs=101, jobs=2))
    assert (tally.runs, tally.outcomes, dict(tally.signatures)) == (101, {"Paper": 100, "find": 1}, {"odd": 1})
    (find,) = tally.finds
    assert (find.number, find.detail, find.data) == (13, "odd: thirteen", b"")
    assert made.summary()["inputs"] == 101
    campaign.save(tally.finds, tmp_path, 1)
    assert json.loads((tmp_path / "odd-1-13.json").read_text())["number"] == 13


def test_a_campaign_survives_crashes_and_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    def deadly(data: bytes, source: str | None, limits: object) -> checks.Outcome:
        if source == "fuzz-4.xml":
            os.abort()
        if source == "fuzz-8.xml":
            time.sleep(600)
        return checks.Outcome("Paper", 1, 0.0, True)

    monkeypatch.setattr(campaign, "check", deadly)
    monkeypatch.setattr(campaign, "SILENCE", 20.0)
    _, tally = run(Plan(seed=1, runs=20))
    assert dict(tally.signatures) == {"crash": 1, "hang": 1}
    assert {find.signature: find.number for find in tally.finds} == {"crash": 4, "hang": 8}
    assert tally.runs >= 2 + 11  # the unreported counts of a killed process are lost


def test_growth_is_measured_behind_the_warm_up() -> None:
    steady = [(0, done, 100 + 900 * (done > 2)) for done in range(20)]
    growing = [(1, done, 100 * done) for done in range(20)]
    assert growth(steady + growing) == {0: 0, 1: 1200}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "input.xml"
    folder = tmp_path / "articles"
    folder.mkdir()
    (folder / "one.xml").write_bytes(GOOD)
    corpus = Corpus.read(folder)
    code = main(["--articles", str(folder), "--replay", "1:2", "--save", str(saved)])
    assert saved.read_bytes() == generate(corpus, 1, 2).data
    assert main(["--check", str(saved)]) == code
    assert main(["--articles", str(folder), "--replay", "x"]) == 2
    assert "not SEED:NUMBER" in capsys.readouterr().err


def test_guided_fails_without_atheris(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["guided", "--runs", "1", "--finds", str(tmp_path)]) == 2
    assert "pip install" in capsys.readouterr().err


def test_the_dictionary_is_in_libfuzzers_form() -> None:
    lines = guided.dictionary().splitlines()
    assert r'"\x3c\x72\x65\x66\x3e"' in lines
    assert all(line.isascii() and line.startswith('"\\x') and line.endswith('"') for line in lines)
