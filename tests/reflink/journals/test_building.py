"""Tables learnt from works, and lists that works complete."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Ids, Work
from reflink.journals.building import JournalsBuilder, learned
from reflink.journals.table import Journal


def work(venue: str | None, *abbreviations: str, issns: tuple[str, ...] = (), doi: str | None = None) -> Work:
    return Work(id="w", ids=Ids(doi=doi), venue=venue, venue_abbreviations=abbreviations, issns=issns)


def test_names_in_one_work_mean_one_journal():
    table = learned([work("Journal of Examples", "J Ex", issns=("1234-5679",)), work("Annals of Proof", "Ann Proof")])
    assert len(table) == 2
    assert table.are_one("J. Ex.", "The Journal of Examples")
    assert not table.are_one("J. Ex.", "Ann. Proof")
    assert table.are_one("J. Ex.", None, (), ("1234-5679",))


def test_a_work_with_one_name_states_nothing():
    assert len(learned([work("Journal of Examples"), work(None, "J Ex"), work(None)])) == 0


def test_one_wrong_record_does_not_join_two_journals():
    right = [work("Journal of Examples", "J Ex"), work("Annals of Proof", "Ann Proof")] * 5
    table = learned([*right, work("Journal of Examples", "Ann Proof")])
    assert not table.are_one("J Ex", "Ann Proof")


def test_sections_that_share_an_abbreviation_stay_apart():
    sections = [work(f"Acta Exemplorum. Section {letter}, Topics of {letter}", "Acta Ex") for letter in "BBBBCCC"]
    table = learned(sections)
    assert not table.are_one("Acta Exemplorum. Section B, Topics of B", "Acta Exemplorum. Section C, Topics of C")


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
    assert table.are_one("JOE", "J Ex")
    assert table.are_one("JOE", "J. of Ex.")
    assert not table.are_one("JOE", "Annals of Proof")


def spelled(code: str, names: dict[str, int]) -> list[Work]:
    """Return works with DOIs of one code, as many of each name of the venue as given."""
    venues = [name for name, count in names.items() for _ in range(count)]
    return [work(venue, doi=f"10.5555/{code}.{number}") for number, venue in enumerate(venues)]


def test_spellings_of_works_whose_dois_have_one_code_mean_one_journal():
    table = learned(spelled("joe", {"Journal of Examples": 6, "Journ. Examp.": 2, "J Exam": 2, "JE": 2}))
    (journal,) = table
    assert set(journal.names) == {"Journal of Examples", "Journ. Examp.", "J Exam", "JE"}
    assert table.are_one("Journ Examp", "JE")


def test_a_name_that_most_works_have_with_another_code_or_that_is_unlike_does_not_join():
    works = spelled("joe", {"Journal of Examples": 10, "J Ex": 9, "Annals of Proof": 1})
    assert not learned(works).are_one("J Ex", "Annals of Proof")
    elsewhere = spelled("other", {"J Ex": 10})
    assert not learned([*works, *elsewhere]).are_one("J Ex", "Journal of Examples")


def test_a_code_of_several_journals_joins_no_names():
    unlike = {"Journal of Examples": 5, "Annals of Proof": 5}
    series = {f"Review of Part {number}": 2 for number in range(10)}
    assert len(learned([*spelled("all", unlike), *spelled("rev", series)])) == 0
    assert len(learned(spelled("few", {"Journal of Examples": 2, "J Exam": 2}))) == 0


def test_one_wrong_doi_does_not_join_two_journals():
    right = spelled("jphys", {"Journal of Physiology": 20, "J. Physiol.": 3})
    wrong = work("Journal of Neurology", doi="10.5555/jphys.77")
    others = [work("Journal of Neurology")] * 20
    for works in ([*right, wrong], [*right, wrong, *others], [*right, wrong, wrong, *others]):
        table = learned(works)
        assert table.are_one("J. Physiol.", "Journal of Physiology")
        assert not table.are_one("Journal of Neurology", "Journal of Physiology")


def test_a_name_joins_a_code_only_if_most_of_its_works_with_a_doi_and_two_have_the_code():
    right = spelled("jphys", {"Journal of Physiology": 20})
    similar = spelled("jphys", {"Physiology Letters": 2})
    assert learned([*right, *similar]).are_one("Physiology Letters", "Journal of Physiology")
    for works in (similar[:1], [*similar, *[work("Physiology Letters", doi="10.5555/12")] * 2]):
        assert not learned([*right, *works]).are_one("Physiology Letters", "Journal of Physiology")


@given(st.permutations(range(3)))
def test_listed_journals_that_share_issns_are_one_in_any_order(order: list[int]):
    journals = [
        Journal(names=("A",), issns=("1234-5679",)),
        Journal(names=("B",), issns=("2345-6789",)),
        Journal(names=("C",), issns=("1234-5679", "2345-6789")),
    ]
    builder = JournalsBuilder()
    builder.add_list(journals[at] for at in order)
    (journal,) = builder.build()
    assert set(journal.names) == {"A", "B", "C"}


def test_listed_journals_without_letters_in_their_names_stay_apart():
    builder = JournalsBuilder()
    builder.add_list([Journal(names=("***",)), Journal(names=("---",))])
    assert len(builder.build()) == 2


def test_of_very_many_names_of_a_work_the_first_ones_are_read():
    names = [f"Journal {number}" for number in range(100)]
    (journal,) = learned([work("Journal of Examples", *names)])
    assert {"Journal 0", "Journal 15"} <= set(journal.names)
    assert len(journal.names) < 20
