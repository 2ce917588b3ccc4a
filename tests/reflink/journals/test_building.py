"""Tables learnt from works, and lists that works complete."""

from __future__ import annotations

import math
from collections.abc import Iterable
from random import Random

from reflink.entities import Work
from reflink.journals.building import JournalsBuilder
from reflink.journals.table import Journal, Journals


def work(venue: str | None, *abbreviations: str, issns: tuple[str, ...] = ()) -> Work:
    return Work(id="w", venue=venue, venue_abbreviations=abbreviations, issns=issns)


def learned(works: Iterable[Work]) -> Journals:
    builder = JournalsBuilder()
    for each in works:
        builder.add(each)
    return builder.build()


def test_names_in_one_work_mean_one_journal():
    table = learned([work("Journal of Examples", "J Ex", issns=("1234-5679",)), work("Annals of Proof", "Ann Proof")])
    assert len(table) == 2
    assert table.compare("J. Ex.", "The Journal of Examples") == 1.0
    assert table.compare("J. Ex.", "Ann. Proof") == 0.0
    assert table.compare("J. Ex.", None, (), ("1234-5679",)) == 1.0


def test_a_work_with_one_name_states_nothing():
    assert len(learned([work("Journal of Examples"), work(None, "J Ex"), work(None)])) == 0


def test_one_wrong_record_does_not_join_two_journals():
    right = [work("Journal of Examples", "J Ex"), work("Annals of Proof", "Ann Proof")] * 5
    table = learned([*right, work("Journal of Examples", "Ann Proof")])
    assert table.compare("J Ex", "Ann Proof") == 0.0


def test_sections_that_share_an_abbreviation_stay_apart():
    sections = [work(f"Acta Exemplorum. Section {letter}, Topics of {letter}", "Acta Ex") for letter in "BBBBCCC"]
    table = learned(sections)
    assert table.compare("Acta Exemplorum. Section B, Topics of B", "Acta Exemplorum. Section C, Topics of C") != 1.0


def test_two_spellings_of_a_title_share_an_abbreviation():
    table = learned([*[work("Example journal", "Ex J")] * 3, *[work("Example journal : organ of examples", "Ex J")] * 2])
    assert len(table) == 1


def test_the_order_of_the_works_does_not_matter():
    works = [work(f"Journal of Part {n % 7}", f"J Part {n % 7}", issns=(f"1000-000{n % 5}",)) for n in range(40)]
    shuffled = works[:]
    Random(1).shuffle(shuffled)
    assert list(learned(works)) == list(learned(shuffled))


def test_works_complete_a_list():
    builder = JournalsBuilder()
    builder.add_list([Journal(names=("Journal of Examples", "JOE"), issns=("1234-5679",))])
    builder.add_list([Journal(names=("J. of Ex.",), issns=("1234-5679",)), Journal(names=("Annals of Proof",))])
    builder.add(work("Journal of Examples", "J Ex"))
    table = builder.build()
    assert len(table) == 2
    assert table.compare("JOE", "J Ex") == table.compare("JOE", "J. of Ex.") == 1.0
    assert table.compare("JOE", "Annals of Proof") == 0.0
    assert math.isnan(table.compare("JOE", "Annals of Example"))
