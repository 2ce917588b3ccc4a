"""The filter of change propagation: which references a changed work may concern."""

from __future__ import annotations

import pytest

from reflink.blocking.keys import hashed, work_key
from reflink.entities import Ids, Link, Reference, Unresolved, Work
from schemas import LinkEvent
from schemas.links import Curated
from tests.workers.ledger.ledgered import CITING
from workers.ledger.change_filter import likely
from workers.ledger.stores.change_log import Change

CHANGED = Work.from_dict({"id": "doi:10.1/changed", "ids": {"doi": "10.1/changed"}, "title": "The yield of wheat in dry years"})
CONCERNED = "doi:10.1/concerned"


def link(cited: str | None = None, probability: float | None = 0.9, doi: str | None = None) -> LinkEvent:
    """Return the outcome of a reference whose text has nothing in common with the changed work."""
    reference = f"{CITING}#a"
    return LinkEvent(
        schema_version=1,
        citing=CITING,
        paper_version=1,
        arrived=10,
        catalog_offset=0,
        judged=11,
        reference=Reference(
            id=reference, citing=CITING, position=1, title="Enzymes of the liver", year=1950, ids=Ids(doi=doi) if doi else Ids()
        ),
        link=Link(
            reference=reference,
            citing=CITING,
            cited=cited,
            method="semantic" if cited else None,
            unresolved=None if cited else "no-candidate",
            probability=probability if cited else None,
        ),
    )


def decided(reason: Unresolved) -> LinkEvent:
    event = link()
    return event.model_copy(update={"link": event.link.model_copy(update={"unresolved": reason})})


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (link(), False),
        (link(doi="10.1/other"), False),
        (link(doi="10.1/changed"), True),
        (link("doi:10.1/other"), False),
        (link("doi:10.1/other", probability=None), True),
        (link(CONCERNED), True),
        (decided("not-in-catalog"), False),
        (decided("ambiguous"), True),
        (decided("other-version"), True),
        (link("doi:10.1/other").model_copy(update={"curated": Curated(action="pinned", reason="", at=1)}), True),
    ],
)
def test_a_reference_is_re_evaluated_whatever_its_probability_if_a_change_concerns_it(event: LinkEvent, expected: bool) -> None:
    change = Change(1, 5, CHANGED.id, (hashed(work_key(CHANGED.id)), hashed(work_key(CONCERNED))), ())
    assert likely([event], change, CHANGED, 1.1) == [expected]
    assert likely([event, event], change, None, 1.1) == [True, True], "the work was removed"
    assert likely([event], change, CHANGED, 0.0) == [True], "without a minimum"


def test_a_reference_without_title_is_re_evaluated_if_a_table_of_journals_may_join_its_journal_and_the_work_s() -> None:
    event = link()
    cited = event.reference.model_copy(update={"title": None, "year": None, "raw_text": "Sov Phys JETP. 2009;46(2):516-21"})
    event = event.model_copy(update={"reference": cited})
    work = Work(id="doi:10.1/jetp", venue="Zhurnal Teoreticheskoi Fiziki", year=2009, volume="46", fpage="516")
    change = Change(1, 5, work.id, (hashed(work_key(work.id)),), ())
    assert likely([event], change, work, 0.01) == [True]
    assert likely([event], change, work.model_copy(update={"fpage": "517"}), 0.01) == [False]
