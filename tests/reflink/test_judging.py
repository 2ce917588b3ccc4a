"""A case answers as if every candidate had been judged at once, however little of that it did."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.catalog import Catalog
from reflink.entities import Ids, Reference, Work
from reflink.judging import Case, Judged
from reflink.verdict import Evidence, compare, describe_reference, describe_work
from reflink.verdict.judge import shipped

TITLES = ("Photosynthesis under water stress in plants", "Photosynthesis under water stress", "Wheat yields and heat")
REFERENCE = Reference(
    id="doi:10.1/0#1",
    citing="doi:10.1/0",
    position=1,
    title=TITLES[0],
    last_names=("Flexas",),
    year=2007,
    ids=Ids(doi="10.1/3"),
)
titles, years = st.sampled_from(TITLES), st.none() | st.integers(2006, 2008)
works = st.lists(st.tuples(titles, years, st.booleans(), st.none() | st.integers(0, 2)), min_size=1, max_size=6)


class Counting:
    """The shipped model, counting what it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def probability(self, evidence: Evidence) -> float:
        self.asked += 1
        return shipped().probability(evidence)

    def at_most(self, outline: Evidence) -> float:
        return shipped().at_most(outline)

    def reasons(self, evidence: Evidence) -> tuple[str, ...]:
        return shipped().reasons(evidence)


def plain(catalog: Catalog, bearers: list[str], proposed: list[tuple[str, float, str]]) -> list[tuple[str, str, float, float]]:
    """(canonical id, method, score, probability) of each candidate, best first."""
    own = catalog.canonical(REFERENCE.citing)
    bearing = {catalog.canonical(each) for each in bearers}
    first: dict[str, tuple[str, float]] = {}
    best: dict[str, float] = {}
    for cited, score, method in [*((each, 1.0, "identifier") for each in bearers), *proposed]:
        one, work = catalog.canonical(cited), catalog.get(cited)
        if one == own and one not in bearing:
            continue
        first.setdefault(one, (method, score))
        if work is not None:
            found = compare(describe_reference(REFERENCE), describe_work(work), by_identifier=one in bearing)
            best[one] = max(best.get(one, 0.0), shipped().probability(found))
    return sorted(((one, *first[one], best[one]) for one in best), key=lambda each: (-each[3], each[0]))


def catalog_of(told: list[tuple[str, int | None, bool, int | None]]) -> Catalog:
    catalog = Catalog.empty(lexical_mode=None)
    catalog.add(
        [
            Work(
                id=f"doi:10.1/{number}", ids=Ids(doi=f"10.1/{number}", pmid=None if pmid is None else str(pmid)), title=title,
                authors=("Flexas",) if same else ("Nobody",), year=year,
            )
            for number, (title, year, same, pmid) in enumerate(told)
        ]
    )  # fmt: skip
    return catalog


def shown(judged: Judged) -> tuple[str, str, float, float]:
    return judged.cited, judged.method, judged.score, judged.probability


@settings(deadline=None, max_examples=300)
@given(
    works,
    st.lists(st.integers(0, 6), max_size=2),
    st.lists(st.tuples(st.integers(0, 7), st.floats(0, 1), st.sampled_from(["semantic", "lexical"])), max_size=8),
    st.floats(0, 1),
    st.booleans(),
)
def test_a_case_ranks_and_links_as_if_all_were_judged(
    told: list[tuple[str, int | None, bool, int | None]],
    bearers: list[int],
    proposed: list[tuple[int, float, str]],
    least: float,
    asked_between: bool,
) -> None:
    catalog = catalog_of(told)
    bearing = [f"doi:10.1/{number}" for number in bearers]
    candidates = [(f"doi:10.1/{number}", score, method) for number, score, method in proposed]
    case = Case(REFERENCE, bearing, catalog, Counting())
    for cited, score, method in candidates:
        case.propose([(cited, score)], method)  # type: ignore[arg-type]
        if asked_between:
            case.link(least)
    expected = plain(catalog, bearing, candidates)
    link = case.link(least)
    if not expected or expected[0][3] < least:
        assert link is None
    else:
        assert link is not None
        assert (link.cited, link.method, link.score) == expected[0][:3]
        runner_up = link.runner_up and (link.runner_up.cited, link.runner_up.score)
        assert runner_up == ((expected[1][0], expected[1][2]) if len(expected) > 1 else None)
    assert list(map(shown, case.ranked())) == expected


def test_what_cannot_be_sure_is_not_judged() -> None:
    catalog = catalog_of([(TITLES[2], 1950, False, None), (TITLES[2], 1951, False, None)])
    judge = Counting()
    case = Case(REFERENCE, (), catalog, judge)
    case.propose([("doi:10.1/1", 0.9)], "semantic")
    assert case.link(0.97) is None
    assert judge.asked == 0
    assert case.no_link("no-candidate").unresolved == "not-in-catalog"
    assert judge.asked == 1
