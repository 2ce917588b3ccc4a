"""Records, worlds, figures, remembered vectors and the whole run on a small catalog."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from reflink import cli
from reflink.entities import Link, Reference
from reflink.errors import BadRecord
from reflink.evaluation import run
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.measure import Outcome, figures, interval
from reflink.evaluation.records import Listing, read_queries, read_works, without_identifiers
from reflink.evaluation.training import FOLDS, fold_of
from reflink.evaluation.vectors import CachedEncoder
from reflink.evaluation.worlds import Groups, is_removed
from reflink.policy import Policy
from reflink.text import SEP
from reflink.verdict import Evidence
from reflink.verdict.judge import shipped


class Hashed:
    """An encoder of words, counting what it was asked."""

    name, precision, dim, separator = "hashed/words", "fp32", 32, SEP

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        vectors = np.full((len(texts), self.dim), 1e-3, np.float32)
        for row, text in enumerate(texts):
            for word in text.split():
                vectors[row, hashlib.sha1(word.encode()).digest()[0] % self.dim] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _write(path: Path, lines: Sequence[dict[str, object]]) -> Path:
    data = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


WORK = {
    "id": "doi:10.1/x",
    "doi": "10.1/x",
    "title": "A title",
    "authors": ["Li"],
    "year": 2001,
    "meta": "ref",
    "article": "a.xml",
}
REFERENCE = {
    "rid": "PMC1#B1@1", "citing": "PMC1", "raw_text": "Li. A title 10.1/x", "raw_noid": "Li. A title", "title": "A title",
    "ids": {"doi": "10.1/x"}, "ids_weak": {"pmid": "3"}, "work": "doi:10.1/x", "query": "front", "tagged": True,
}  # fmt: skip


@pytest.mark.parametrize("name", ["works.jsonl", "works.jsonl.gz"])
def test_works_flat_or_nested_with_their_group(tmp_path: Path, name: str) -> None:
    nested = {"id": "pmid:7", "ids": {"pmid": "7"}, "title_group": "g"}
    flat, other = read_works(_write(tmp_path / name, [WORK, nested]))
    assert (flat.work.ids.doi, flat.work.authors, flat.group) == ("10.1/x", ("Li",), "doi:10.1/x")
    assert (other.work.ids.pmid, other.group) == ("7", "g")


def test_queries_are_those_of_the_protocol(tmp_path: Path) -> None:
    lines = [
        REFERENCE, {**REFERENCE, "rid": "a", "query": "same_article_dup"}, {**REFERENCE, "rid": "b", "id_conflict": 1},
        {k: v for k, v in REFERENCE.items() if k != "query"}, {**REFERENCE, "rid": "c", "query": "medline"},
    ]  # fmt: skip
    first, last = read_queries(_write(tmp_path / "r.jsonl", lines))
    assert (first.reference.id, first.reference.citing, first.kind, first.truth) == (
        "PMC1#B1@1",
        "pmcid:PMC1",
        "front",
        "doi:10.1/x",
    )
    assert last.kind == "medline"
    bare = without_identifiers(first.reference)
    assert (bare.ids.keys(), bare.ids_weak.keys(), bare.raw_text, bare.raw_query) == ((), (), "Li. A title", "Li. A title")


def test_a_file_without_kinds_is_all_queries(tmp_path: Path) -> None:
    plain = {k: v for k, v in REFERENCE.items() if k != "query"}
    assert [query.kind for query in read_queries(_write(tmp_path / "r.jsonl", [plain, plain]))] == ["any", "any"]


@pytest.mark.parametrize("line", ["{", "[]", '{"title": "no id"}'])
def test_bad_lines_are_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "works.jsonl").write_text(orjson.dumps(WORK).decode() + "\n\n" + line + "\n")
    with pytest.raises(BadRecord, match=r"works\.jsonl: line 3"):
        list(read_works(tmp_path / "works.jsonl"))


@settings(deadline=None)
@given(st.text())
def test_half_is_the_parity_of_the_sha1_and_tenths_nest(group: str) -> None:
    assert is_removed(group) == (hashlib.sha1(group.encode()).hexdigest()[-1] in "13579bdf")
    present = [tenths for tenths in range(11) if not is_removed(group, tenths)]
    assert present == list(range(present[0], 11))
    assert not is_removed(group, 10)


def test_groups_go_as_a_whole(tmp_path: Path) -> None:
    lines = [{**WORK, "id": f"pmid:{n}", "title_group": f"g{n // 2}"} for n in range(40)]
    listings: list[Listing] = list(read_works(_write(tmp_path / "w.jsonl", lines)))
    groups = Groups.read(listings)
    removed = groups.removed()
    assert 0 < len(removed) < 40
    for listing in listings:
        assert (listing.work.id in removed) == is_removed(listing.group) == groups.is_absent(listing.work.id, "open")
        assert not groups.is_absent(listing.work.id, "closed")
        assert listing.work.id in groups.same(listing.work.id)
    assert list(groups.same("unknown")) == ["unknown"]


def _outcome(cited: str | None, *, present: bool, right: bool, kind: str = "front") -> Outcome:
    method = None if cited is None else "semantic"
    return Outcome("r", kind, present, right, Link(reference="r", citing="c", cited=cited, method=method))


def test_figures_by_hand() -> None:
    outcomes = [
        *[_outcome("w", present=True, right=True)] * 6, _outcome("v", present=True, right=False),
        _outcome(None, present=True, right=False), _outcome("w", present=False, right=False, kind="cocite"),
        _outcome(None, present=False, right=False, kind="cocite"),
    ]  # fmt: skip
    opened = figures(outcomes, closed=False)
    assert (opened["precision"], opened["recall"], opened["false_link"], opened["f1"]) == (0.75, 0.75, 0.5, 0.75)
    assert opened["kinds"]["cocite"]["recall"] == 0
    assert figures(outcomes[:8], closed=True)["error"] == 0.25


@settings(deadline=None)
@given(st.integers(0, 500), st.integers(0, 500))
def test_interval_holds_the_share(hits: int, more: int) -> None:
    low, high = interval(hits, hits + more)
    assert 0 <= low <= high <= 1
    if hits + more:
        assert low - 1e-6 <= hits / (hits + more) <= high + 1e-6


def test_vectors_are_encoded_once_and_outlive_a_torn_write(tmp_path: Path) -> None:
    encoder = Hashed()
    first = CachedEncoder(encoder, tmp_path).encode(["a b", "c", "a b"])
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_allclose(first, Hashed().encode(["a b", "c", "a b"]), atol=1e-3)
    assert encoder.asked == ["a b", "c"]
    vectors = next(tmp_path.glob("*.f16"))
    vectors.write_bytes(vectors.read_bytes()[:-5])
    again = CachedEncoder(encoder, tmp_path)
    assert len(again) == 1
    np.testing.assert_array_equal(again.encode(["c", "a b", "d"])[:2], first[[1, 0]])
    assert encoder.asked == ["a b", "c", "c", "d"]
    assert again.encode([]).shape == (0, 32)


def test_a_training_paper_is_judged_by_a_model_without_it() -> None:
    judges = HeldOut.shipped()
    evidence = Evidence(title=0.9, contained=0.9, authors=1.0, first_author=True, year=1)
    assert judges.of("pmcid:PMC0").judge(evidence) == shipped().judge(evidence)
    assert not judges.is_known("pmcid:PMC0")
    assert judges.is_known("pmcid:PMC5404511")
    assert judges.of("pmcid:PMC5404511").probability(evidence) != shipped().probability(evidence)


def test_folds_are_even() -> None:
    counts = np.bincount([fold_of(f"pmcid:PMC{n}") for n in range(2000)], minlength=FOLDS)
    assert counts.min() > 300


def _titles() -> list[str]:
    words = "wheat rice millet drought salt iron zinc gene protein yield root leaf seed field stress map".split()
    return [
        f"{a} {b} under {c} conditions in the long dry season" for a, b, c in zip(words, words[3:], words[5:], strict=False)
    ]


def _small(tmp_path: Path) -> tuple[Path, Path]:
    """Works and references of a small world, as files."""
    works: list[dict[str, object]] = []
    references: list[dict[str, object]] = []
    for n, title in enumerate(_titles()):
        told = {"title": title, "venue": "Crop Science", "year": 1990 + n, "volume": str(n + 1)}
        works.append({"id": f"doi:10.1/{n}", "doi": f"10.1/{n}", "authors": [f"Author{n}"], "fpage": str(100 + 7 * n), **told})
        raw = f"Author{n} {title} Crop Sci {1990 + n} {n + 1} {100 + 7 * n}"
        references.append({
            "rid": f"c#{n}", "citing": "c", "raw_noid": raw, "raw_text": f"{raw} 10.1/{n}", "ids": {"doi": f"10.1/{n}"},
            "last_names": [f"Author{n}"], "first_page": str(100 + 7 * n), "work": f"doi:10.1/{n}", "query": "cocite", **told,
        })  # fmt: skip
    return _write(tmp_path / "works.jsonl.gz", works), _write(tmp_path / "refs.jsonl.gz", references)


@pytest.fixture
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "default_encoder", lambda cache: CachedEncoder(Hashed(), cache))


@pytest.mark.usefixtures("_no_model")
def test_a_whole_run(tmp_path: Path) -> None:
    paths = _small(tmp_path)
    evaluation = run.evaluate(*paths, policy=Policy(), worlds=["closed", "open"], cache=tmp_path / "cache")
    measured = evaluation.to_dict()
    removed = sum(is_removed(listing.group) for listing in read_works(paths[0]))
    assert measured["closed"]["error"] == 0
    assert (measured["open"]["precision"], measured["open"]["recall"], measured["open"]["false_link"]) == (1, 1, 0)
    assert measured["open"]["absent"] == removed > 0
    assert measured["about"]["held_out"] == 0
    line = evaluation.outcomes["open"][0].to_dict()
    assert {"rid", "cited", "probability", "present", "right", "kind"} <= line.keys()
    assert "identifier" not in measured["closed"]["methods"]


@pytest.mark.usefixtures("_no_model")
@pytest.mark.parametrize(("profile", "world"), [("paper", "closed"), ("production", "open"), ("production", "both")])
def test_the_command_writes_what_it_measured(tmp_path: Path, profile: str, world: str) -> None:
    works, references = _small(tmp_path)
    figures_at, outcomes_at = tmp_path / "figures.json", tmp_path / "outcomes.jsonl"
    given_ = ["--catalog", works, "--references", references, "--cache", tmp_path / "cache", "--json", figures_at]
    asked = [*given_, "--outcomes", outcomes_at, "--profile", profile, "--world", world]
    assert cli.main(["evaluate", *map(str, asked)]) == 0
    measured = orjson.loads(figures_at.read_bytes())
    worlds = {"closed", "open"} if world == "both" else {world}
    assert measured.keys() == worlds | {"about"}
    lines = [orjson.loads(line) for line in outcomes_at.read_bytes().splitlines()]
    assert len(lines) == len(worlds) * len(list(read_queries(references)))
    assert all({"rid", "cited", "probability", "present"} <= line.keys() for line in lines)
    assert ("error" in measured.get("closed", {})) == ("closed" in worlds)


def test_reference_fields_unknown_to_the_entity_are_left_behind(tmp_path: Path) -> None:
    query = next(read_queries(_write(tmp_path / "r.jsonl", [REFERENCE])))
    assert isinstance(query.reference, Reference)
    assert "tagged" not in query.reference.to_dict()
