"""The fallback's outcomes of a batch, without Kafka: one search for all references, and each outcome as its event requires."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from reflink.catalog import Catalog
from reflink.entities import Candidate, Ids, Reference, Work
from reflink.hits import Hits
from reflink.lexical import LexicalIndex
from reflink.linking.linker import lexical_step
from reflink.linking.native import NativeCandidates
from reflink.linking.policy import Found, Open, Policy, Profile
from schemas import SCHEMA_VERSION, FallbackEvent, OutcomesEvent
from workers.config.settings import FallbackSettings
from workers.linking.fallback_stage import FallbackStage, FallbackView

WORKS = [
    Work(id="pmid:1", ids=Ids(pmid="1"), title="Soil fungi of the wet forest", authors=("Ames",), venue="Mycologia", year=2001),
    Work(
        id="pmid:2",
        ids=Ids(pmid="2"),
        title="Drought stress in grain legumes",
        authors=("Farooq",),
        venue="Crop Sci",
        year=2017,
    ),
]


def catalog() -> Catalog:
    made = Catalog.empty(lexical_mode="Raw")
    made.add(WORKS)
    return made


def event(paper: str, of: Sequence[Work], offset: int, profile: Profile = "production") -> FallbackEvent:
    items = tuple(
        Open(
            reference=Reference(
                id=f"{paper}#{at}", citing=paper, position=at + 1, title=work.title, last_names=work.authors, year=work.year,
                raw_text=f"{work.authors[0]} ({work.year}) {work.title}. {work.venue}",
            ),
            found=Found(semantic=(Candidate(cited=work.id, score=0.9), Candidate(cited="pmid:77", score=0.1))),
        )
        for at, work in enumerate(of)
    )  # fmt: skip
    return FallbackEvent(
        schema_version=SCHEMA_VERSION, citing=paper, paper_version=1, arrived=0, catalog_offset=offset, profile=profile,
        items=items,
    )  # fmt: skip


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, Any]]:
    """Return a list that receives the number of texts, k and the seeds of each search."""
    seen: list[tuple[int, int, Any]] = []
    search = LexicalIndex.search

    def recorded(index: LexicalIndex, texts: Sequence[str], k: int, floor: float | None = None, seeds: Any = None) -> Hits:
        seen.append((len(texts), k, seeds))
        return search(index, texts, k, floor, seeds)

    monkeypatch.setattr(LexicalIndex, "search", recorded)
    return seen


def test_the_fallback_judges_under_the_share_of_the_event():
    few, many = (event("doi:10.1/p", WORKS[:1], 3).model_copy(update={"absent": share}) for share in (0.5, 0.9))
    (first, second) = handled([few, many])
    assert (first.absent, second.absent) == (0.5, 0.9)
    low, high = second.items[0].link.probability, first.items[0].link.probability
    assert low is not None
    assert high is not None
    assert low / (1 - low) == pytest.approx(high / (1 - high) / 9, rel=0.02)


def handled(batch: Sequence[FallbackEvent], works: Catalog | None = None) -> list[OutcomesEvent]:
    stage = FallbackStage(FallbackSettings(kafka_bootstrap_servers="nowhere:1"))
    output = stage.handle(batch, FallbackView(NativeCandidates(works or catalog()), Policy(), 7))
    assert {"text", "search", "verdict", "encode"} <= set(output.observed.seconds)
    return [OutcomesEvent.from_json(message.value or b"") for message in output.messages]


def test_references_of_one_profile_are_searched_together_at_every_offset(
    searches: list[tuple[int, int, Any]],
) -> None:
    batch = [event("doi:10.9/a", WORKS, 3), event("doi:10.9/b", WORKS[:1], 5), event("doi:10.9/c", WORKS[1:], 3, "paper")]
    outcomes = handled(batch)
    assert [(texts, k) for texts, k, _ in searches] == [(3, Policy().candidates), (1, 1)]
    assert searches[0][2][0] == ("pmid:1", "pmid:77"), "the search begins with the candidates of the semantic stage"
    assert {(each.citing, each.catalog_offset) for each in outcomes} == {
        ("doi:10.9/a", 3),
        ("doi:10.9/b", 5),
        ("doi:10.9/c", 3),
    }
    cited = {(each.citing, item.reference.id): item.link.cited for each in outcomes for item in each.items}
    assert cited == {
        ("doi:10.9/a", "doi:10.9/a#0"): "pmid:1",
        ("doi:10.9/a", "doi:10.9/a#1"): "pmid:2",
        ("doi:10.9/b", "doi:10.9/b#0"): "pmid:1",
        ("doi:10.9/c", "doi:10.9/c#0"): "pmid:2",
    }


def test_a_batch_has_the_outcomes_of_its_single_events() -> None:
    batch = [event("doi:10.9/a", WORKS, 3), event("doi:10.9/b", WORKS[::-1], 4), event("doi:10.9/c", WORKS, 4, "paper")]
    together = sorted(handled(batch), key=lambda each: each.citing)
    assert together == sorted((one for each in batch for one in handled([each])), key=lambda each: each.citing)


def test_seeds_change_no_link() -> None:
    opens = list(event("doi:10.9/a", WORKS, 3).items)
    bare = [Open(reference=item.reference) for item in opens]
    paper, source = Policy(profile="paper"), NativeCandidates(catalog())
    assert lexical_step(opens, source, paper) == lexical_step(bare, source, paper)


def test_model_policy_and_cause_are_passed_on() -> None:
    plain = event("doi:10.9/a", WORKS[:1], 3)
    events = [
        plain.model_copy(update={"model": "one@1", "policy": "00000001", "woken": 5}),
        plain.model_copy(update={"model": "one@1", "policy": "00000001"}),
        plain.model_copy(update={"model": "other@2", "policy": "00000002"}),
        plain,
    ]
    found = [(each.model, each.policy, each.woken, len(each.items)) for each in handled(events)]
    assert found == [
        ("one@1", "00000001", 5, 1),
        ("one@1", "00000001", 0, 1),
        ("other@2", "00000002", 0, 1),
        (None, None, 0, 1),
    ]


@pytest.mark.parametrize("profile", ["production", "paper"])
def test_a_forbidden_work_is_not_a_candidate_and_is_named_in_the_outcome(profile: Profile) -> None:
    plain = event("doi:10.9/a", WORKS, 3, profile)
    first, second = plain.items
    batch = [plain.model_copy(update={"items": (first.model_copy(update={"forbidden": ("pmid:1",)}), second)})]
    (outcomes,) = handled(batch)
    assert [item.forbidden for item in outcomes.items] == [("pmid:1",), ()]
    assert outcomes.items[0].link.cited != "pmid:1"
    assert outcomes.items[1].link.cited == "pmid:2"


def test_a_reference_to_a_translated_title_is_linked():
    """The reference has no identifier, volume or page, so only the title leads to the work."""
    title, cited = "Pilze im Boden feuchter Wälder der gemäßigten Zone", "pmid:3"
    work = Work(
        id=cited, ids=Ids(pmid="3"), title="Soil fungi of wet forests in temperate regions", translated_titles=(title,),
        authors=("Ames", "Bock"), venue="Mycologia", year=2001,
    )  # fmt: skip
    reference = Reference(
        id="doi:10.1/p#0", citing="doi:10.1/p", position=1, title=title, last_names=("Ames", "Bock"), year=2001,
        venue="Mycologia", raw_text=f"Ames, Bock. {title}. Mycologia 2001.",
    )  # fmt: skip
    batch = [event("doi:10.1/p", [], 3).model_copy(update={"items": (Open(reference=reference, found=Found()),)})]
    probabilities = []
    for works in ([*WORKS, work], [*WORKS, work.model_copy(update={"translated_titles": ()})]):
        made = Catalog.empty(lexical_mode="Raw")
        made.add(works)
        (outcome,) = handled(batch, made)
        probabilities.append(outcome.items[0].link.probability or 0.0)
    known, unknown = probabilities
    assert known > 0.95
    assert unknown < 0.7
