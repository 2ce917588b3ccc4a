"""The policy in both profiles, over a small real catalog and an encoder of letters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from reflink.catalog import Catalog
from reflink.entities import Ids, Link, Reference, Work
from reflink.errors import SnapshotError
from reflink.linking.judging import rounded
from reflink.linking.linker import Linker
from reflink.linking.linker import lexical_step as lexical_step_of
from reflink.linking.linker import semantic_step as semantic_step_of
from reflink.linking.policy import Found, Open, Policy
from reflink.text import SEP, work_text
from reflink.verdict.reasons import IDENTIFIER_ELSEWHERE
from tests.reflink.verdict.evidences import sensible

DIM = 64
PAPER = Policy(profile="paper")
PRODUCTION = Policy()
#: A judge that stays as it is when the shipped one is trained again.
JUDGE = sensible()
semantic_step = partial(semantic_step_of, judge=JUDGE)
lexical_step = partial(lexical_step_of, judge=JUDGE)


class Letters:
    """Texts as counts of their letter pairs, hashed: alike texts are alike, whatever they are batched with."""

    name, precision, dim, separator = "letters", "fp32", DIM, SEP

    def __init__(self) -> None:
        self.calls: list[int] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(len(texts))
        vectors = np.zeros((len(texts), DIM), np.float32)
        for row, text in enumerate(texts):
            for a, b in pairwise(text):
                vectors[row, (ord(a) * 31 + ord(b)) % DIM] += 1
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def work(n: int, title: str, **more: Any) -> Work:
    told = {"authors": ("Galmes", "Medrano"), "venue": "New Phytologist", "year": 2007, "volume": "175", "fpage": str(80 + n)}
    return Work.from_dict({"id": f"doi:10.1/{n}", "ids": {"doi": f"10.1/{n}"}, "title": title, **told, **more})


WORKS = [
    work(1, "Photosynthetic limitations in response to water stress and recovery"),
    work(2, "Mapping of loci for phosphorus deficiency tolerance in rice"),
    work(3, "Drought stress in grain legumes during reproduction", authors=("Farooq",), venue="J Agron Crop Sci"),
    work(4, "Wheat", authors=("Shewry",), venue="J Exp Bot", year=2009, volume="60", fpage="1537"),
    work(5, "The Pfam protein families database", authors=("Finn", "Bateman"), status="retracted", venue="Nucleic Acids Res"),
]


def catalog(works: Sequence[Work] = tuple(WORKS)) -> Catalog:
    made = Catalog.empty(dim=DIM)
    made.add(works, Letters().encode([work_text(one, "TVL", lexical=False) for one in works]))
    return made


def cite(of: Work, **changed: Any) -> Reference:
    raw = f"{' '.join(of.authors)} {of.title}. {of.venue} {of.year};{of.volume}:{of.fpage}"
    told = {
        "id": "c#1", "citing": "doi:10.9/citing", "position": 1, "raw_text": raw, "title": of.title, "last_names": of.authors,
        "venue": of.venue, "year": of.year, "volume": of.volume, "first_page": of.fpage,
    }  # fmt: skip
    return Reference.from_dict({name: value for name, value in {**told, **changed}.items() if value is not None})


ELSEWHERE = cite(work(9, "Sodium hypochlorite and the disinfestation of seeds", authors=("Chun",), year=1997, volume="81"))
EMPTY = Reference(id="c#2", citing="doi:10.9/citing", position=2)
#: Fields that are taken from a reference to leave it without a place of print, and with nothing but its text.
UNPLACED: dict[str, Any] = {"volume": None, "first_page": None}
WRITTEN: dict[str, Any] = {**UNPLACED, "title": None, "last_names": None, "venue": None, "year": None}


class Never(Letters):
    """An encoder that must not be asked."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise AssertionError(f"asked for {texts}")


def one(reference: Reference, policy: Policy = PRODUCTION, of: Catalog | None = None, encoder: Letters | None = None) -> Link:
    return Linker(catalog() if of is None else of, encoder or Letters(), policy, judge=JUDGE).link([reference])[0]


@pytest.mark.parametrize("target", [WORKS[0], WORKS[1], WORKS[2], WORKS[4]])
def test_production_links_and_repeats_the_status(target: Work) -> None:
    link = one(cite(target, **UNPLACED))
    assert (link.cited, link.method, link.status) == (target.id, "semantic", target.status)
    assert link.probability is not None
    assert link.probability >= PRODUCTION.sure
    assert link.reasons
    assert link.evidence["title"] == 1.0
    assert link.runner_up is not None
    assert link.runner_up.cited != link.cited
    assert link.runner_up.probability is not None
    assert link.runner_up.probability <= link.probability


@pytest.mark.parametrize("changed", [{}, {"title": None}])
def test_what_its_place_settles_is_not_encoded_nor_searched_for(changed: dict[str, Any]) -> None:
    policy = Policy(sure=0.5)
    for target in WORKS:
        (link,) = semantic_step([cite(target, raw_text=None, **changed)], catalog(), Never(), policy)
        assert isinstance(link, Link)
        assert (link.cited, link.method, link.score, link.runner_up) == (target.id, "place", 1.0, None)


def test_only_what_is_not_settled_is_encoded() -> None:
    encoder = Letters()
    references = [cite(WORKS[0]), cite(WORKS[1], **UNPLACED), ELSEWHERE, cite(WORKS[2])]
    semantic_step(references, catalog(), encoder, PRODUCTION)
    assert encoder.calls == [2]


def test_a_place_proposes_and_the_verdict_decides() -> None:
    same_place = cite(WORKS[1], title="Sodium hypochlorite and seeds", last_names=["Chun"], raw_text=None)
    link = one(same_place)
    assert link.cited is None
    assert link.runner_up is not None
    assert link.runner_up.cited == WORKS[1].id
    assert link.runner_up.score == 1.0
    (opened,) = semantic_step([same_place], catalog(), Letters(), Policy(refuse=0.0))
    assert isinstance(opened, Open)
    assert opened.found.places == (WORKS[1].id,)


def test_what_was_found_by_place_is_judged_by_the_lexical_step_too() -> None:
    reference = cite(WORKS[0], title=None, raw_text=None)
    opened = Open(reference=reference, found=Found(places=(WORKS[0].id, "doi:10.1/gone")))
    (link,) = lexical_step([opened], catalog(), PRODUCTION)
    assert (link.cited, link.method) == (WORKS[0].id, "place")


def test_production_leaves_what_is_not_there_unresolved() -> None:
    for policy in (PRODUCTION, Policy(refuse=0.0)):
        link = one(ELSEWHERE, policy)
        assert (link.cited, link.method, link.unresolved) == (None, None, "not-in-catalog")
        assert link.runner_up is not None
        assert link.runner_up.probability == link.probability


def test_what_was_searched_by_title_and_is_like_nothing_is_refused_at_once() -> None:
    (link,) = semantic_step([ELSEWHERE], catalog(), Letters(), PRODUCTION)
    assert isinstance(link, Link)
    assert link.unresolved == "not-in-catalog"
    assert link.probability is not None
    assert link.probability < PRODUCTION.refuse
    assert link == one(ELSEWHERE)
    (opened,) = semantic_step([ELSEWHERE], catalog(), Letters(), Policy(refuse=rounded(link.probability) / 2))
    assert isinstance(opened, Open)


@pytest.mark.parametrize("encoder", [None, Never()])
def test_nothing_is_refused_that_was_not_searched_for_by_meaning(encoder: Letters | None) -> None:
    always = Policy(refuse=1.0)
    unsearched = [ELSEWHERE.model_copy(update={"title": None}), cite(WORKS[0], **WRITTEN), EMPTY]
    unsearched += [ELSEWHERE] if encoder is None else []
    for item in semantic_step(unsearched, catalog(), encoder, always):
        assert isinstance(item, Open)
    places = cite(WORKS[0], title=None, last_names=["Chun"], year=1950)
    (opened,) = semantic_step([places], catalog(), encoder, Policy(refuse=1.0, sure=1.1))
    assert isinstance(opened, Open)


@pytest.mark.parametrize("changed", [{}, UNPLACED])
def test_no_step_links_below_what_is_accepted(changed: dict[str, Any]) -> None:
    strict = Policy(sure=0.1, accept=1.1, refuse=0.0)
    (opened,) = semantic_step([cite(WORKS[0], **changed)], catalog(), Letters(), strict)
    assert isinstance(opened, Open)
    assert one(cite(WORKS[0], **changed), strict).unresolved == "not-in-catalog"


def test_nothing_is_refused_where_a_work_cannot_be_found_by_meaning() -> None:
    """Its vector is missing: only its letters can bring it."""
    here = catalog()
    here.add_unencoded([work(6, "Wheat yields under heat", authors=("Li",), venue="Crop Science")])
    (opened,) = semantic_step([ELSEWHERE], here, Letters(), PRODUCTION)
    assert isinstance(opened, Open)
    found = one(cite(here.get("doi:10.1/6") or WORKS[0], **UNPLACED), of=here)
    assert (found.cited, found.method) == ("doi:10.1/6", "lexical")


def test_the_more_references_lack_their_work_the_fewer_are_linked() -> None:
    reference = cite(WORKS[0], title="Photosynthetic limitations", year=2008, raw_text=None, **UNPLACED)
    found = [one(reference, Policy(absent=absent, refuse=0.0)).probability or 0.0 for absent in (0.01, 0.5, 0.99)]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


def test_reasons_for_no_link() -> None:
    assert one(EMPTY).unresolved == "empty"
    assert one(EMPTY, PAPER).unresolved == "empty"
    nothing = catalog(WORKS[:1])
    nothing.remove([WORKS[0].id])
    assert one(ELSEWHERE, of=nothing).unresolved == "no-candidate"
    assert one(ELSEWHERE, PAPER, of=nothing).unresolved == "no-candidate"


def test_an_identifier_wins_says_so_and_is_not_encoded() -> None:
    link = one(cite(WORKS[0], ids={"doi": "10.1/1"}), encoder=Never())
    assert (link.cited, link.method) == (WORKS[0].id, "identifier")
    bare = Reference(id="c#1", citing="c", position=1, ids=Ids(doi="10.1/2"))
    assert one(bare, encoder=Never()).cited == WORKS[1].id
    weak = Reference(id="c#1", citing="c", position=1, ids_weak=Ids(doi="10.1/2"))
    assert one(weak, encoder=Never()).cited == WORKS[1].id


def test_an_identifier_that_names_another_work_is_told_and_the_metadata_win() -> None:
    for changed in ({}, UNPLACED, {**UNPLACED, "title": None}):
        link = one(cite(WORKS[0], ids={"doi": "10.1/3"}, **changed))
        assert link.cited == WORKS[0].id
        assert link.reasons[0] == IDENTIFIER_ELSEWHERE
    none = one(ELSEWHERE.model_copy(update={"ids": Ids(doi="10.1/2")}))
    assert none.cited is None
    assert IDENTIFIER_ELSEWHERE in none.reasons
    assert none.runner_up is not None
    assert none.runner_up.cited == WORKS[1].id
    assert IDENTIFIER_ELSEWHERE not in one(cite(WORKS[0], ids={"doi": "10.1/1"})).reasons
    assert IDENTIFIER_ELSEWHERE not in one(cite(WORKS[0])).reasons


def test_a_citation_without_title_is_not_encoded_but_found_by_its_text() -> None:
    raw = cite(WORKS[0], **WRITTEN)
    assert semantic_step([raw], catalog(), Never(), PRODUCTION) == [Open(reference=raw)]
    link = one(raw)
    assert (link.cited, link.method) == (WORKS[0].id, "lexical")


@pytest.mark.parametrize("changed", [{}, UNPLACED, WRITTEN])
def test_never_to_the_citing_paper_itself_unless_it_says_so(changed: dict[str, Any]) -> None:
    own = cite(WORKS[0], citing=WORKS[0].id, **changed)
    assert one(own).cited is None
    assert one(own).runner_up is None or one(own).runner_up.cited != WORKS[0].id  # type: ignore[union-attr]
    assert one(own.model_copy(update={"ids": Ids(doi="10.1/1")})).cited == WORKS[0].id


@pytest.mark.parametrize("changed", [{}, UNPLACED, WRITTEN])
def test_works_that_are_one_are_linked_by_the_canonical_id_and_are_no_runner_up_of_themselves(changed: dict[str, Any]) -> None:
    twin = work(0, WORKS[0].title or "", fpage="81", ids={"doi": "10.1/0", "pmid": "7"})
    here = catalog([*WORKS, twin, work(7, "Another title for it", ids={"pmid": "7", "doi": "10.1/1"})])
    for policy in (PRODUCTION, PAPER):
        link = one(cite(WORKS[0], **changed), policy, here)
        assert link.cited == "doi:10.1/0"
        assert link.runner_up is None or link.runner_up.cited not in ("doi:10.1/0", "doi:10.1/1", "doi:10.1/7")


@pytest.mark.parametrize("changed", [{}, UNPLACED, WRITTEN])
def test_equal_works_go_to_the_smallest_id(changed: dict[str, Any]) -> None:
    twin = WORKS[1].model_copy(update={"id": "doi:10.1/2b", "ids": Ids(doi="10.1/2b")})
    for works in ([twin, *WORKS], [*WORKS, twin]):
        link = one(cite(WORKS[1], **changed), of=catalog(works))
        assert link.cited == "doi:10.1/2"
        assert link.runner_up is not None
        assert link.runner_up.cited == "doi:10.1/2b"
        assert link.runner_up.probability == link.probability


def test_paper_takes_the_semantic_top_from_the_threshold_on() -> None:
    link = one(cite(WORKS[0]), PAPER)
    assert (link.cited, link.method, link.probability) == (WORKS[0].id, "semantic", None)
    exact = Policy(profile="paper", threshold=0.0)
    assert one(ELSEWHERE, exact).method == "semantic"


def test_paper_else_takes_the_lexical_top_however_bad() -> None:
    never = Policy(profile="paper", threshold=1.1)
    link = one(ELSEWHERE, never)
    assert link.method == "lexical"
    assert link.cited is not None
    best = catalog().trigrams
    assert best is not None
    from reflink.text import reference_text

    ids = best.search([reference_text(ELSEWHERE, "Raw", lexical=True)], 1).ids
    assert link.cited == ids[0, 0]


def test_paper_ignores_identifiers_and_may_link_to_itself() -> None:
    link = one(cite(WORKS[0], ids={"doi": "10.1/2"}, citing=WORKS[0].id), PAPER)
    assert (link.cited, link.method) == (WORKS[0].id, "semantic")


def test_one_encoding_per_call() -> None:
    encoder = Letters()
    semantic_step([cite(each, **UNPLACED) for each in WORKS], catalog(), encoder, PRODUCTION)
    assert encoder.calls == [len(WORKS)]


class Aimed(Letters):
    """Every text is the same vector: the first axis, and a little of another one."""

    def __init__(self, axis: int, little: float = 5e-4) -> None:
        super().__init__()
        self.vector = np.zeros(DIM, np.float32)
        self.vector[[0, axis]] = 1.0, little

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(len(texts))
        return np.tile(self.vector, (len(texts), 1))


def twins() -> Catalog:
    """Two works as near to the first axis as each other: 0.9."""
    made, vectors = Catalog.empty(dim=DIM), np.zeros((2, DIM), np.float32)
    vectors[[0, 1], 0], vectors[0, 1], vectors[1, 2] = 0.9, 0.43589, 0.43589
    made.add(WORKS[:2], vectors)
    return made


@pytest.mark.parametrize("policy", [PAPER, Policy(refuse=0.0)])
def test_close_ones_are_asked_again_of_the_encoder_of_works(policy: Policy) -> None:
    reference, fast, precise = cite(WORKS[4]), Aimed(2), Aimed(1)
    alone = [semantic_step([reference], twins(), encoder, policy)[0] for encoder in (precise, fast)]
    assert [best(each) for each in alone] == [WORKS[0].id, WORKS[1].id]
    precise.calls.clear()
    assert semantic_step([reference, reference], twins(), fast, policy, precise=precise) == [alone[0]] * 2
    assert precise.calls == [2]
    clear = Aimed(2, 0.1)
    assert best(semantic_step([reference], twins(), clear, policy, precise=precise)[0]) == WORKS[1].id
    assert precise.calls == [2], "nothing was close"


def best(result: Link | Open) -> str | None:
    return result.found.semantic[0].cited if isinstance(result, Open) else result.cited


def test_a_score_near_the_papers_threshold_is_asked_again() -> None:
    for more, calls in ((0.0005, [1]), (-0.0005, [1]), (0.01, []), (-0.01, [])):
        precise = Aimed(2, 0.1)
        score = twins().vectors.search(precise.vector[None], 1).scores[0, 0]  # type: ignore[union-attr]
        policy = Policy(profile="paper", threshold=float(score) + more)
        semantic_step([cite(WORKS[4])], twins(), Aimed(2, 0.1), policy, precise=precise)
        assert precise.calls == calls


def test_one_encoder_is_not_asked_twice_and_equal_vectors_tie_anyway() -> None:
    encoder, precise = Aimed(1), Aimed(1)
    semantic_step([cite(WORKS[4])], twins(), encoder, PAPER, precise=encoder)
    assert encoder.calls == [1]
    semantic_step([cite(WORKS[4])], twins(), Aimed(3), PAPER, precise=precise)
    assert precise.calls == []


def test_a_lexical_floor_leaves_out_what_is_below_it_but_not_in_the_published_method() -> None:
    reference = cite(WORKS[4], raw_text="Pfam protein families")
    for profile, links in (("production", {WORKS[4].id, None}), ("paper", {WORKS[4].id})):
        found = {
            lexical_step([Open(reference=reference)], catalog(), Policy(profile=profile, lexical_floor=floor))[0].cited  # type: ignore[arg-type]
            for floor in (None, 0.99)
        }
        assert found == links


def test_open_travels_as_json() -> None:
    patient, reference = Policy(refuse=0.0, sure=1.1), cite(WORKS[0], title="Sodium and seeds", ids={"doi": "10.1/2"})
    first = semantic_step([reference], catalog(), Letters(), patient)[0]
    assert isinstance(first, Open)
    assert first.found.semantic
    assert (first.found.by_identifier, first.found.places) == ((WORKS[1].id,), (WORKS[0].id,))
    assert Open.from_json(first.to_json()) == first
    assert lexical_step([Open.from_json(first.to_json())], catalog(), patient) == [one(reference, patient)]


def test_works_that_went_away_since_are_passed_over() -> None:
    gone = Open(reference=ELSEWHERE, found=Found(by_identifier=("doi:10.1/gone",)))
    assert lexical_step([gone], catalog(), PRODUCTION)[0].cited is None


def test_each_step_needs_its_half_of_the_catalog_only() -> None:
    reference = cite(WORKS[3], title="Wheats")
    vectors_only, trigrams_only = Catalog.empty(dim=DIM, lexical_mode=None), Catalog.empty()
    texts = [work_text(each, "TVL", lexical=False) for each in WORKS]
    vectors_only.add(WORKS, Letters().encode(texts))
    trigrams_only.add(WORKS)
    never = Policy(sure=1.1, refuse=0.0)
    first = semantic_step([reference], vectors_only, Letters(), never)[0]
    assert isinstance(first, Open)
    assert lexical_step([first], trigrams_only, never) == [one(reference, never)]
    assert Linker(trigrams_only, judge=JUDGE).link([cite(WORKS[3], **UNPLACED)])[0].method == "lexical"


def test_an_encoder_that_did_not_make_the_vectors_is_refused() -> None:
    made = Catalog.empty(dim=DIM, model="another", precision="fp32")
    with pytest.raises(SnapshotError, match="another"):
        Linker(made, Letters(), judge=JUDGE)


class Joining(Letters):
    """One whose model joins fields in its own way."""

    separator = " ~ "

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        return super().encode(texts)


@pytest.mark.parametrize("policy", [PAPER, PRODUCTION])
def test_both_sides_are_joined_as_the_catalogs_texts_are(policy: Policy) -> None:
    encoder = Joining()
    made = Catalog.empty(dim=DIM, model=encoder.name, precision=encoder.precision, separator=encoder.separator)
    made.add_encoded(WORKS, encoder)
    of_works = list(encoder.texts)
    assert Linker(made, encoder, policy, judge=JUDGE).link([cite(WORKS[0], **UNPLACED)])[0].cited == WORKS[0].id
    assert encoder.texts[-1] == of_works[0] == work_text(WORKS[0], "TVL", lexical=False, separator=" ~ ")
    with pytest.raises(SnapshotError, match=r"of separator ' ~ ', not ' \[SEP\] '"):
        Linker(made, Letters(), policy, judge=JUDGE)


references = st.lists(
    st.sampled_from(
        [
            *map(cite, WORKS),
            cite(WORKS[0], **UNPLACED),
            cite(WORKS[2], **WRITTEN),
            ELSEWHERE,
            EMPTY,
            cite(WORKS[0], title=None),
            cite(WORKS[1], ids={"doi": "10.1/4"}),
        ]
    ),
    max_size=8,
)
CATALOG = catalog()


@given(references, st.integers(0, 8), st.sampled_from([PAPER, PRODUCTION]))
def test_batching_changes_nothing(given_: list[Reference], cut: int, policy: Policy) -> None:
    linker = Linker(CATALOG, Letters(), policy, judge=JUDGE)
    whole = linker.link(given_)
    assert whole == linker.link(given_[:cut]) + linker.link(given_[cut:])
    for reference, link in zip(given_, whole, strict=True):
        assert (link.reference, link.citing) == (reference.id, reference.citing)
        assert (link.cited is None) == (link.unresolved is not None) == (link.method is None)
        assert link.cited is None or CATALOG.canonical(link.cited) == link.cited
