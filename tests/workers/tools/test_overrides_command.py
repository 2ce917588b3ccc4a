"""The command ``override`` checks overrides, writes them to the partition of the paper, and waits for the link."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import orjson
import pytest

from schemas import LinkEvent, OverrideEvent
from schemas.links import Curated
from tests.kafka import read_all
from tests.workers.commands import Command
from tests.workers.echo import meanwhile
from tests.workers.links import PARTITIONS, link, publish
from workers.config.settings import KafkaSettings
from workers.errors import BrokerUnreachable
from workers.kafka.topics import partition_of
from workers.tools.overrides import BadOverride, find_links, from_line, made, normal_work, read_overrides, reference_id, shows

PAPER = "doi:10.5555/a.paper"
REFERENCE = f"{PAPER}#B12.1"


# Valid arguments


@pytest.mark.parametrize("text", [PAPER, "", "#", "#B1", f"{PAPER}#", f"{PAPER}#\udcff", f"{PAPER}#a\n"])
def test_the_id_of_a_reference_has_a_paper_and_a_name(text: str):
    with pytest.raises(BadOverride, match="is not the id of a reference"):
        reference_id(text)
    assert reference_id(REFERENCE) == REFERENCE


@pytest.mark.parametrize(
    ("text", "work"),
    [
        ("doi:10.1000/ABC", "doi:10.1000/abc"),
        ("DOI:https://doi.org/10.1000/abc", "doi:10.1000/abc"),
        ("pmid:00123", "pmid:123"),
        ("pmcid:123", "pmcid:PMC123"),
        ("arxiv:1706.03762v2", "arxiv:1706.03762"),
        (" isbn:978 3 ", "isbn:978%203"),
    ],
)
def test_ids_of_works_are_normalised_as_in_the_catalog(text: str, work: str):
    assert normal_work(text) == work


@pytest.mark.parametrize(
    "text", ["", " ", "10.1000/abc", "doi:abc", "pmid:x", "PMC123", ":a", "a:", "https://doi.org/10.1/a", REFERENCE]
)
def test_an_invalid_id_of_a_work_is_refused(text: str):
    with pytest.raises(BadOverride, match="is not a work id"):
        normal_work(text)


def test_other_ids_of_works_need_any_name():
    assert normal_work("record-17", any_name=True) == "record-17"
    with pytest.raises(BadOverride, match="is not a pmid"):
        normal_work("pmid:x", any_name=True)


def test_the_own_paper_of_a_reference_is_refused_without_force():
    for paper in (PAPER, PAPER.upper().replace("DOI:", "doi:")):
        with pytest.raises(BadOverride, match=r"its own paper, doi:10.5555/a.paper: use --force"):
            made(REFERENCE, pinned=paper, reason="r", by=None)
    assert made(REFERENCE, pinned=PAPER, reason="r", by=None, force=True).pinned == PAPER


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"nothing": True, "pinned": "pmid:1"},
        {"pinned": "pmid:1", "forbidden": ["pmid:2"]},
        {"reason": " ", "nothing": True},
    ],
)
def test_an_override_has_one_decision_and_a_reason(fields: dict[str, Any]):
    with pytest.raises(BadOverride, match=REFERENCE):
        made(REFERENCE, **{"reason": "r", "by": None, **fields})


def test_a_line_of_a_file_is_an_override_without_version_and_time():
    event = from_line(orjson.dumps({"reference": REFERENCE, "pinned": "DOI:10.1000/X", "reason": "r"}), by="ann")
    assert (event.pinned, event.by, event.schema_version) == ("doi:10.1000/x", "ann", 1)
    assert abs(event.at / 1000 - time.time()) < 600
    listed = made(REFERENCE, forbidden=["pmid:2", "pmid:1", "pmid:02"], reason="r", by="bob", at=5)
    assert listed.forbidden == ("pmid:1", "pmid:2")
    assert from_line(listed.to_json(), by="ann") == listed


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"reference": "a#b", "nothing": true}', "reason"),
        (b'{"reference": "a#b", "nothing": true, "reason": "r", "schema_version": 2}', "schema_version must be 1"),
        (b'{"reference": "a#b", "forbiden": ["pmid:1"], "nothing": true, "reason": "r"}', "unknown fields: forbiden"),
        (b'{"reference": "a", "nothing": true, "reason": "r"}', "reference"),
        (b'{"reference": "a#b", "pinned": "pmid:x", "reason": "r"}', "is not a pmid"),
        (b'{"reference": "a#b", "nothing": true, "pinned": "pmid:1", "reason": "r"}', "exactly one of"),
    ],
)
def test_an_invalid_line_is_refused(line: bytes, message: str):
    with pytest.raises(BadOverride, match=message):
        from_line(line, by=None)


def test_a_link_shows_an_override_by_its_time():
    event = made(REFERENCE, nothing=True, reason="r", by=None, at=10)
    before, after = (link(REFERENCE, None, curated=Curated(action="nothing", reason="r", at=at).to_dict()) for at in (9, 10))
    assert [shows(each, event) for each in (link(REFERENCE), before, after)] == [False, False, True]
    assert [shows(each, None) for each in (link(REFERENCE), after)] == [True, False]


# On a real broker


@pytest.fixture
def override(bound: KafkaSettings, monkeypatch: pytest.MonkeyPatch, command: Command) -> Command:
    """Return a function that runs the command as the user ann. It returns the exit code, stdout and stderr."""
    monkeypatch.setattr("getpass.getuser", lambda: "ann")
    publish(bound, link(f"{PAPER}#gone"), link(REFERENCE, "pmid:1"), link(f"{PAPER}#B2.1", None), f"{PAPER}#gone")
    return lambda *arguments: command("override", *arguments)


def written(kafka: KafkaSettings) -> dict[str, OverrideEvent]:
    return read_overrides(kafka, PARTITIONS)


def test_pin_list_and_lift(kafka: KafkaSettings, override: Command):
    code, out, err = override("pin", REFERENCE, "doi:10.1000/ABC", "--reason", "misprinted year")
    assert (code, err) == (0, "")
    assert out == f"{REFERENCE}: pinned to doi:10.1000/abc\n  previous link: pmid:1\n"
    (record,) = read_all(kafka, "overrides")
    assert (record.key, record.partition) == (REFERENCE.encode(), partition_of(PAPER.encode(), PARTITIONS))
    event = OverrideEvent.from_json(record.value or b"")
    assert (event.pinned, event.reason, event.by) == ("doi:10.1000/abc", "misprinted year", "ann")
    assert abs(event.at / 1000 - time.time()) < 600
    assert override("nothing", f"{PAPER}#B2.1", "--reason", "a letter", "--by", "bob")[0] == 0
    code, out, _ = override("list", "--citing", PAPER, "--json")
    assert [OverrideEvent.from_json(line).reference for line in out.splitlines()] == [REFERENCE, f"{PAPER}#B2.1"]
    assert override("list", "--citing", "doi:10.5555/other")[1] == "0 overrides\n"
    assert "pinned to doi:10.1000/abc" in override("list")[1]
    code, out, _ = override("lift", REFERENCE)
    assert code == 0
    assert out.startswith(f"{REFERENCE}: lifted\n  before: pinned to doi:10.1000/abc, ")
    assert read_all(kafka, "overrides")[-1].value is None or read_all(kafka, "overrides")[-2].value is None
    assert set(written(kafka)) == {f"{PAPER}#B2.1"}
    code, _, err = override("lift", REFERENCE)
    assert code == 2
    assert "has no override" in err


def test_forbidden_works_are_added_unless_only_replaces_them(kafka: KafkaSettings, override: Command):
    assert override("forbid", REFERENCE, "pmid:2", "pmid:1", "--reason", "first")[0] == 0
    assert override("forbid", REFERENCE, "pmid:3", "--reason", "second")[0] == 0
    assert written(kafka)[REFERENCE].forbidden == ("pmid:1", "pmid:2", "pmid:3")
    assert override("forbid", REFERENCE, "pmid:4", "--only", "--reason", "third")[0] == 0
    assert written(kafka)[REFERENCE].forbidden == ("pmid:4",)
    assert override("pin", REFERENCE, "pmid:9", "--reason", "found")[0] == 0
    code, _, err = override("forbid", REFERENCE, "pmid:5", "--reason", "r")
    assert code == 2
    assert "pinned to pmid:9 already: --only" in err
    assert written(kafka)[REFERENCE].pinned == "pmid:9"


@pytest.mark.parametrize("reference", [f"{PAPER}#other", f"{PAPER}#gone"])
def test_a_reference_without_a_link_is_refused_without_unknown(kafka: KafkaSettings, override: Command, reference: str):
    code, _, err = override("nothing", reference, "--reason", "r")
    assert code == 2
    assert f"has no reference {reference}" in err
    assert "--unknown" in err
    assert not written(kafka)
    assert override("nothing", reference, "--reason", "r", "--unknown")[0] == 0
    assert set(written(kafka)) == {reference}


def test_invalid_arguments_write_nothing(kafka: KafkaSettings, override: Command):
    pins = [("pin", PAPER, "pmid:1"), ("pin", REFERENCE, "pmid:x"), ("pin", REFERENCE, PAPER)]
    for arguments in (*pins, ("forbid", REFERENCE, "x")):
        assert override(*arguments, "--reason", "r")[0] == 2
    assert read_all(kafka, "overrides") == []


def ledger(kafka: KafkaSettings, event: LinkEvent) -> AbstractContextManager[None]:
    """Publish the link as soon as there is an override, with the time of that override."""

    def work() -> bool:
        found = [record.value for record in read_all(kafka, "overrides")]
        if not found or found[-1] is None:
            return False
        at = OverrideEvent.from_json(found[-1]).at
        curated = Curated(action="pinned", reason="r", by="ann", at=at)
        publish(kafka, link(f"{PAPER}#B2.1"), link(REFERENCE), event.model_copy(update={"curated": curated}))
        return True

    return meanwhile(work)


def test_the_command_waits_until_the_link_shows_the_override(kafka: KafkaSettings, override: Command):
    with ledger(kafka, link(REFERENCE, "pmid:9", method="curator")):
        code, out, _ = override("pin", REFERENCE, "pmid:9", "--reason", "r", "--wait", "100", "--json")
    assert code == 0
    shown = orjson.loads(out)
    cited = [shown[name]["link"]["cited"] for name in ("link", "link_before")]
    assert (shown["reference"], cited) == (REFERENCE, ["pmid:9", "pmid:1"])
    assert shown["link"]["curated"]["at"] == shown["override"]["at"]


def test_the_command_fails_if_the_link_does_not_show_the_override_in_time(kafka: KafkaSettings, override: Command):
    code, _, err = override("nothing", REFERENCE, "--reason", "r", "--wait", "0.5")
    assert code == 1
    assert "written, but the link does not show it after 0.5 s" in err
    assert REFERENCE in written(kafka)


def test_a_file_is_applied_as_a_whole_or_not_at_all(kafka: KafkaSettings, override: Command, tmp_path: Path):
    file = tmp_path / "overrides.jsonl"
    good = [
        {"reference": REFERENCE, "pinned": "DOI:10.1000/X", "reason": "r"},
        {"reference": f"{PAPER}#B2.1", "forbidden": ["pmid:1"], "reason": "r", "by": "bob"},
    ]
    bad = [{"reference": "x", "nothing": True, "reason": "r"}, good[0]]
    file.write_bytes(b"\n".join(map(orjson.dumps, good + bad)))
    code, _, err = override("apply", str(file))
    assert code == 2
    assert f"{file}:3: " in err
    assert f"{file}:4: {REFERENCE} occurs twice" in err
    assert "2 invalid lines: nothing was written" in err
    assert not written(kafka)
    file.write_bytes(b"\n".join(map(orjson.dumps, [*good, {"reference": f"{PAPER}#new", "nothing": True, "reason": "r"}])))
    assert override("apply", str(file))[0] == 2
    assert not written(kafka)
    code, out, _ = override("apply", str(file), "--unknown", "--json")
    assert (code, orjson.loads(out)) == (0, {"written": 3})
    assert {each.by for each in written(kafka).values()} == {"ann", "bob"}
    before = written(kafka)
    file.write_text(override("list", "--json")[1])
    assert override("apply", str(file), "--unknown")[1] == "3 overrides written\n"
    assert written(kafka) == before, "`apply` reads the output of `list`"


def test_links_of_many_papers_are_found_in_one_pass(kafka: KafkaSettings):
    references = [f"doi:10.5555/{n}#r1" for n in range(12)]
    publish(kafka, *(link(reference, "pmid:1") for reference in references))
    publish(kafka, *(link(reference, "pmid:2") for reference in references[:6]), references[0])
    reported: list[tuple[int, int]] = []
    found = find_links(kafka, PARTITIONS, [*references, "doi:10.5555/none#r1"], lambda *progress: reported.append(progress))
    cited = {reference: event and event.link.cited for reference, event in found.items()}
    wanted = [None, *(["pmid:2"] * 5), *(["pmid:1"] * 6), None]
    assert list(cited.values()) == wanted
    assert reported[-1][0] == reported[-1][1] > 0


def test_an_unreachable_broker_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch, command: Command):
    monkeypatch.setenv("REFLINK_KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:9")
    monkeypatch.setenv("REFLINK_KAFKA_CONNECT_TIMEOUT_S", "1")
    code, _, err = command("override", "list")
    assert (code, err.count("\n")) == (BrokerUnreachable.exit_code, 1)
