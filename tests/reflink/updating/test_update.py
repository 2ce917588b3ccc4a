"""Updates: new files are read once, the newest state of each record counts, and a publication has what changed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reflink.catalog.filters import Filters
from reflink.errors import BadDump, StateFailed
from reflink.merging import Conflict, Rules
from reflink.updating import Input, Limits, Report, State, export, pending, published, update
from reflink.updating.changes import lost
from reflink.updating.components import MAX_RECORDS
from reflink.updating.layout import MAX_BEARERS, origin_of
from reflink.updating.output import TOPIC, write_changes, write_works
from reflink.updating.provenance import provenance
from tests.reflink.updating.sources import Lines, Others, write


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State(tmp_path / "state") as opened:
        yield opened


def run(state: State, *folders: Path, others: Path | None = None, complete: bool = False, **limits: Any) -> Report:
    inputs = [Input(Lines(), folders, complete)] + ([Input(Others(), (others,))] if others else [])
    return update(state, inputs, limits=Limits(**limits))


def works(state: State) -> dict[str, dict[str, Any]]:
    found = [json.loads(line) for line in export(state)]
    assert len({work["id"] for work in found}) == len(found)
    return {work["id"]: work for work in found}


def publish(state: State) -> dict[str, bool]:
    """Publish the changes and return for each work whether it is there."""
    changes = list(pending(state))
    published(state, changes)
    known = works(state)
    for work_id, value in changes:
        assert (None if value is None else json.loads(value)) == known.get(work_id)
    return {work_id: value is not None for work_id, value in changes}


A = {"key": "a", "doi": "10.1000/a", "title": "Title of a"}
B = {"key": "b", "pmid": "2", "title": "Title of b"}


def test_every_record_becomes_a_work(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A, B)
    report = run(state, tmp_path / "in")
    assert works(state).keys() == {"doi:10.1000/a", "pmid:2"}
    assert publish(state) == {"doi:10.1000/a": True, "pmid:2": True}
    assert report.sources["lines"].counts.added == 2
    assert report.flawless


def test_an_update_without_new_files_reads_and_changes_nothing(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A, B)
    run(state, tmp_path / "in")
    publish(state)
    report = run(state, tmp_path / "in")
    assert (report.sources["lines"].read, report.sources["lines"].known) == (0, 1)
    assert publish(state) == {}
    again = run(state, tmp_path / "in", again=True)
    assert again.sources["lines"].counts.unchanged == 2
    assert publish(state) == {}


def test_the_newest_version_counts_in_whatever_order_files_are_read(state: State, tmp_path: Path):
    write(tmp_path / "in/2.jsonl", A | {"title": "Second"})
    run(state, tmp_path / "in")
    write(tmp_path / "in/1.jsonl", A | {"title": "First"})
    run(state, tmp_path / "in")
    assert works(state)["doi:10.1000/a"]["title"] == "Second"
    write(tmp_path / "in/3.jsonl", A | {"title": "Third"}, B)
    run(state, tmp_path / "in")
    assert works(state)["doi:10.1000/a"]["title"] == "Third"
    assert publish(state).keys() == {"doi:10.1000/a", "pmid:2"}


def test_of_equal_versions_the_last_one_counts(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A | {"title": "First"}, A | {"title": "Last"})
    run(state, tmp_path / "in")
    assert works(state)["doi:10.1000/a"]["title"] == "Last"


def test_a_withdrawn_record_is_removed_and_an_older_file_does_not_restore_it(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A, B)
    run(state, tmp_path / "in")
    publish(state)
    write(tmp_path / "in/3.jsonl", {"key": "a", "withdrawn": True})
    run(state, tmp_path / "in")
    assert publish(state) == {"doi:10.1000/a": False}
    write(tmp_path / "in/2.jsonl", A | {"title": "Late"})
    run(state, tmp_path / "in")
    assert works(state).keys() == {"pmid:2"}
    assert publish(state) == {}


def test_a_record_withdrawn_before_it_is_known_stays_withdrawn(state: State, tmp_path: Path):
    write(tmp_path / "in/2.jsonl", {"key": "a", "withdrawn": True})
    run(state, tmp_path / "in")
    write(tmp_path / "in/1.jsonl", A)
    run(state, tmp_path / "in")
    assert works(state) == {}


def test_records_that_share_an_identifier_are_one_work(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A, {"key": "c", "doi": "10.1000/a", "pmid": "3", "title": "Title of a"})
    run(state, tmp_path / "in")
    assert works(state).keys() == {"doi:10.1000/a"}
    assert works(state)["doi:10.1000/a"]["ids"] == {"doi": "10.1000/a", "pmid": "3"}


def test_records_of_different_sources_merge_and_part_again(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A)
    run(state, tmp_path / "in")
    publish(state)
    write(tmp_path / "other/1.jsonl", {"key": "x", "doi": "10.1000/a", "pmid": "9", "title": "Title of a"})
    run(state, tmp_path / "in", others=tmp_path / "other")
    assert publish(state) == {"doi:10.1000/a": True}
    assert works(state)["doi:10.1000/a"]["ids"]["pmid"] == "9"
    write(tmp_path / "other/2.jsonl", {"key": "x", "pmid": "9", "title": "Title of x"})
    run(state, tmp_path / "in", others=tmp_path / "other")
    assert works(state).keys() == {"doi:10.1000/a", "pmid:9"}
    assert publish(state) == {"doi:10.1000/a": True, "pmid:9": True}


def test_the_id_of_a_work_changes_with_its_identifiers(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", B)
    run(state, tmp_path / "in")
    publish(state)
    write(tmp_path / "in/2.jsonl", B | {"doi": "10.1000/b"})
    run(state, tmp_path / "in")
    assert publish(state) == {"pmid:2": False, "doi:10.1000/b": True}


def test_partial_records_complete_others_and_join_them(state: State, tmp_path: Path):
    ids = {"key": "p", "doi": "10.1000/a", "pmid": "2", "pmcid": "PMC7", "partial": True}
    write(tmp_path / "in/1.jsonl", ids)
    run(state, tmp_path / "in")
    assert works(state) == {}
    write(tmp_path / "in/2.jsonl", A, B | {"title": "Title of a"})
    run(state, tmp_path / "in")
    assert {name: work["ids"] for name, work in works(state).items()} == {
        "doi:10.1000/a": {"doi": "10.1000/a", "pmid": "2", "pmcid": "PMC7"}
    }


def test_a_new_edition_removes_what_it_lacks(state: State, tmp_path: Path):
    many = [{"key": f"m{n}", "doi": f"10.1000/m{n}", "title": "Title"} for n in range(50)]
    write(tmp_path / "in/2025-1.jsonl", A, *many)
    run(state, tmp_path / "in")
    publish(state)
    write(tmp_path / "in/2026-1.jsonl", *many)
    report = run(state, tmp_path / "in")
    assert report.sources["lines"].removed == 1
    assert publish(state) == {"doi:10.1000/a": False}
    write(tmp_path / "in/2025-2.jsonl", A)
    run(state, tmp_path / "in")
    assert publish(state) == {}


def test_a_new_edition_that_lacks_too_much_is_refused_and_removes_nothing(state: State, tmp_path: Path):
    write(tmp_path / "in/2025-1.jsonl", A, B)
    run(state, tmp_path / "in")
    publish(state)
    write(tmp_path / "in/2026-1.jsonl", A)
    with pytest.raises(BadDump, match="1 of 2 records"):
        run(state, tmp_path / "in")
    assert works(state).keys() == {"doi:10.1000/a", "pmid:2"}
    assert run(state, tmp_path / "in", max_removed=1.0).sources["lines"].removed == 1
    assert works(state).keys() == {"doi:10.1000/a"}


def test_complete_files_remove_what_they_lack(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A, B)
    run(state, tmp_path / "in")
    write(tmp_path / "new/1.jsonl", B)
    report = run(state, tmp_path / "new", complete=True, max_removed=0.5)
    assert report.sources["lines"].removed == 1
    assert works(state).keys() == {"pmid:2"}


def test_a_removed_record_comes_back_with_a_later_edition_that_has_it_again(state: State, tmp_path: Path):
    for present in ((A, B), (A,), (A, B)):
        write(tmp_path / "in/1.jsonl", *present)
        run(state, tmp_path / "in", complete=True, max_removed=1.0)
        assert len(works(state)) == len(present)


def test_complete_files_that_have_not_changed_are_not_read_again(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A)
    write(tmp_path / "in/2.jsonl", B)
    run(state, tmp_path / "in", complete=True)
    again = run(state, tmp_path / "in", complete=True).sources["lines"]
    assert (again.read, again.known, again.removed) == (0, 2, 0)
    (tmp_path / "in/2.jsonl").unlink()
    assert run(state, tmp_path / "in", complete=True, max_removed=0.5).sources["lines"].removed == 1
    assert works(state).keys() == {"doi:10.1000/a"}


def test_files_of_one_name_in_two_folders_are_two_files(state: State, tmp_path: Path):
    write(tmp_path / "one/1.jsonl", A)
    write(tmp_path / "two/1.jsonl", B)
    assert run(state, tmp_path / "one", tmp_path / "two").sources["lines"].read == 2
    assert run(state, tmp_path / "one", tmp_path / "two").sources["lines"].known == 2


def test_the_age_of_a_source_is_that_of_its_newest_readable_file(state: State, tmp_path: Path):
    os.utime(write(tmp_path / "in/1.jsonl", A), (1000, 1000))
    os.utime(write(tmp_path / "in/2.jsonl", "damaged"), (2000, 2000))
    assert run(state, tmp_path / "in").sources["lines"].newest == 1000
    assert run(state, tmp_path / "in").sources["lines"].newest == 1000


def test_a_bad_record_and_a_damaged_file_cost_nothing_else(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A, "not JSON", B)
    write(tmp_path / "in/2.jsonl", {"key": "c", "doi": "10.1000/c"}, "damaged", {"key": "d", "doi": "10.1000/d"})
    faults: list[str] = []
    report = update(state, [Input(Lines(), (tmp_path / "in",))], on_fault=faults.append)
    assert works(state).keys() == {"doi:10.1000/a", "pmid:2", "doi:10.1000/c"}
    assert len(faults) == 2
    assert "1.jsonl:2" in faults[0]
    assert not report.flawless
    write(tmp_path / "in/2.jsonl", {"key": "c", "doi": "10.1000/c"}, {"key": "d", "doi": "10.1000/d"})
    again = run(state, tmp_path / "in")
    assert (again.sources["lines"].read, again.sources["lines"].known) == (1, 1)
    assert "doi:10.1000/d" in works(state)


def test_files_read_side_by_side_give_the_same_state(tmp_path: Path):
    for number in range(1, 6):
        records = [{"key": f"k{n}", "doi": f"10.1000/{n}", "title": f"Version {number}"} for n in range(number * 300)]
        write(tmp_path / f"in/{number}.jsonl", *records, "bad")
    found = []
    for jobs in (1, 2):
        with State(tmp_path / f"state{jobs}") as state:
            report = run(state, tmp_path / "in", jobs=jobs)
            found.append((works(state), report.sources["lines"].bad))
    assert found[0] == found[1]
    assert len(found[0][0]) == 1500


def test_a_state_is_open_in_one_process_only_and_of_one_format(state: State, tmp_path: Path):
    with pytest.raises(StateFailed, match="another process uses it"):
        State(tmp_path / "state")
    with State(tmp_path / "other") as other:
        other.set_fact("format", 99)
    with pytest.raises(StateFailed, match="format 99"):
        State(tmp_path / "other")


def test_an_identifier_of_too_many_records_joins_none_of_them(state: State, tmp_path: Path):
    junk = [{"key": f"j{n}", "doi": "10.1000/junk", "title": f"Chapter {n} of a long book"} for n in range(MAX_BEARERS + 2)]
    write(tmp_path / "in/1.jsonl", *junk)
    run(state, tmp_path / "in")
    found = works(state)
    assert len(found) == len(junk)
    assert not any("ids" in work for work in found.values())
    write(tmp_path / "in/2.jsonl", {"key": "late", "doi": "10.1000/junk", "title": "Another chapter of it"})
    run(state, tmp_path / "in")
    assert "lines:late" in works(state)


def test_records_of_a_too_large_component_stay_alone(state: State, tmp_path: Path):
    number = MAX_RECORDS + 1
    chain = [
        {"key": f"c{n}", "pmid": str(n // 2 + 1), "doi": f"10.1000/{(n + 1) // 2}", "title": f"Title {n}"}
        for n in range(number)
    ]
    write(tmp_path / "in/1.jsonl", *chain)
    run(state, tmp_path / "in")
    found = works(state)
    assert len(found) == number
    assert not any("ids" in work for work in found.values())


def test_works_that_a_filter_leaves_out_are_counted_and_come_back_without_it(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A, B | {"title": "Short"})
    inputs = [Input(Lines(), (tmp_path / "in",))]
    report = update(state, inputs, filters=Filters(min_title=8))
    assert (works(state).keys(), report.settled.filtered) == ({"doi:10.1000/a"}, {"title": 1})
    publish(state)
    assert update(state, inputs, filters=Filters(min_title=8)).settled.filtered == {}
    update(state, inputs)
    assert publish(state) == {"pmid:2": True}
    assert update(state, inputs, filters=Filters(min_title=100)).settled.filtered == {"title": 2}
    assert publish(state) == {"doi:10.1000/a": False, "pmid:2": False}


def test_unlike_records_with_one_identifier_are_reported(state: State, tmp_path: Path):
    other = {"key": "x", "doi": "10.1000/a", "title": "A completely different subject", "authors": ["Other"], "year": 1950}
    write(tmp_path / "in/1.jsonl", A | {"authors": ["Doe"], "year": 2000}, other)
    found: list[Conflict] = []
    update(state, [Input(Lines(), (tmp_path / "in",))], on_conflict=found.append)
    assert [conflict.identifier for conflict in found] == ["doi:10.1000/a"]
    assert len(works(state)) == 2


def test_the_origin_of_each_field_is_shown(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A | {"authors": ["Doe"]})
    write(tmp_path / "other/1.jsonl", {"key": "x", "doi": "10.1000/a", "pmid": "9", "title": "Title of a", "year": 2000})
    run(state, tmp_path / "in", others=tmp_path / "other")
    for name in ("doi:10.1000/a", "pmid:9", "lines a", "others x"):
        (merged,) = provenance(state, name)
        assert {member.name for member in merged.members} == {"lines/a", "others/x"}
        assert (merged.provenance["authors"], merged.provenance["year"]) == ("lines/a", "others/x")
    assert provenance(state, "pmid:10") == []


def test_records_are_settled_and_compared_anew_by_another_version_of_the_code(
    state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write(tmp_path / "in/1.jsonl", A, B)
    inputs = [Input(Lines(), (tmp_path / "in",))]
    rules = Rules(compare=True)
    assert update(state, inputs, rules=rules).settled.records == 2
    assert update(state, inputs, rules=rules).settled.records == 0
    for module in ("update", "matching"):
        monkeypatch.setattr(sys.modules[f"reflink.updating.{module}"], "VERSION", 0)
    assert update(state, inputs, rules=rules).settled.records == 2


def test_a_file_outside_the_series_belongs_to_the_newest_edition(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A)
    write(tmp_path / "in/2026-2.jsonl", B)
    assert run(state, tmp_path / "in").sources["lines"].read == 2
    assert works(state).keys() == {"doi:10.1000/a", "pmid:2"}
    write(tmp_path / "in/2027-1.jsonl", B)
    report = run(state, tmp_path / "in").sources["lines"]
    assert (report.ignored, report.removed) == (1, 0)
    assert works(state).keys() == {"doi:10.1000/a", "pmid:2"}


def test_a_source_with_editions_refuses_complete(state: State, tmp_path: Path):
    class Editions(Lines):
        has_editions = True

    write(tmp_path / "in/2026-1.jsonl", A)
    with pytest.raises(BadDump, match="leave complete out"):
        update(state, [Input(Editions(), (tmp_path / "in",), complete=True)])


def test_complete_files_keep_a_record_of_which_a_newer_version_is_known(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A, B)
    write(tmp_path / "day/2.jsonl", A | {"title": "Newer"})
    run(state, tmp_path / "in", tmp_path / "day")
    report = run(state, tmp_path / "in", complete=True)
    assert report.sources["lines"].removed == 0
    assert works(state)["doi:10.1000/a"]["title"] == "Newer"


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("first", ["one", "two"])
def test_of_equal_versions_in_two_files_the_same_one_counts_in_any_order(state: State, tmp_path: Path, first: str, jobs: int):
    for name in ("one", "two"):
        write(tmp_path / name / "1.jsonl", A | {"title": f"From {name}", "version": 5})
    winner = max(("one", "two"), key=lambda name: origin_of(tmp_path / name / "1.jsonl"))
    for name in sorted(("one", "two"), key=lambda name: name != first):
        run(state, tmp_path / name, jobs=jobs)
    assert works(state)["doi:10.1000/a"]["title"] == f"From {winner}"


def test_works_that_a_new_filter_drops_count_as_lost(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A, B)
    run(state, tmp_path / "in")
    publish(state)
    update(state, [Input(Lines(), (tmp_path / "in",))], filters=Filters(min_title=100))
    assert lost(state) == 2
    with pytest.raises(BadDump, match="2 of 2 works"):
        write_changes(state, tmp_path / "changes.jsonl", max_removed=0.5)
    assert not (tmp_path / "changes.jsonl").exists()


def test_the_changes_of_a_state_that_is_loaded_into_a_topic_go_to_no_file(state: State, tmp_path: Path):
    state.set_fact(TOPIC, ["cluster", "catalog", "id"])
    with pytest.raises(BadDump, match="go to a topic"):
        write_changes(state, tmp_path / "changes.jsonl")


def test_bad_records_of_known_files_are_still_counted(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A, "bad")
    first, second = (run(state, tmp_path / "in") for _ in range(2))
    assert (first.flawless, first.sources["lines"].bad) == (False, 1)
    assert (second.flawless, second.sources["lines"].bad_before) == (True, 1)


def test_joining_preprints_compares_anew(state: State, tmp_path: Path):
    write(tmp_path / "in/1.jsonl", A, B)
    inputs = [Input(Lines(), (tmp_path / "in",))]
    update(state, inputs, rules=Rules(compare=True))
    before = state.fact("matching")
    update(state, inputs, rules=Rules(compare=True, join_preprints=True))
    assert state.fact("matching") != before


def test_works_are_written_over_a_truncated_file_and_a_refusal_leaves_no_partial_file(state: State, tmp_path: Path):
    many = [{"key": f"m{n}", "doi": f"10.1000/m{n}", "title": "Title"} for n in range(40)]
    write(tmp_path / "in/1.jsonl", *many)
    run(state, tmp_path / "in")
    out = tmp_path / "works.jsonl.gz"
    write_works(state, out)
    out.write_bytes(out.read_bytes()[:-30])
    assert write_works(state, out, max_removed=0.05) == 40
    write(tmp_path / "in/2.jsonl", *({"key": f"m{n}", "withdrawn": True} for n in range(20)))
    run(state, tmp_path / "in")
    with pytest.raises(BadDump, match="20 of 40 works"):
        write_works(state, out, max_removed=0.05)
    assert {path.name for path in tmp_path.iterdir()} == {"in", "state", "works.jsonl.gz"}
