"""docs/events.md: its examples are valid events, and it covers all topics, schemas and headers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from reflink.catalog.reading import read_works
from reflink.entities import Work
from schemas import links, papers, references
from schemas.export import EVENTS, file_of
from workers import dead_letter
from workers.kafka.topics import HOUR_MS, PAIRED, TOPICS

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = (DOCS / "events.md").read_text()
EXAMPLES = re.findall(r"<!-- event: ([a-z-]+) -->\n```json\n(.*?)```", PAGE, re.DOTALL)
ROWS = {cells[1].split("]")[0].strip(" ["): cells for line in PAGE.splitlines() if len(cells := line.split("|")) == 7}


def unknown_fields(value: Any) -> list[str]:
    """Return the names of fields that no model has, at any depth."""
    if isinstance(value, BaseModel):
        found = list(value.model_extra or ())
        return found + [name for each in vars(value).values() for name in unknown_fields(each)]
    if isinstance(value, tuple | list):
        return [name for each in value for name in unknown_fields(each)]
    return []


@pytest.mark.parametrize(("name", "text"), EXAMPLES)
def test_an_example_equals_its_event(name, text):
    event = EVENTS[name].from_json(text)
    assert unknown_fields(event) == []
    assert orjson.loads(event.to_json()) == orjson.loads(text)


def test_every_json_on_the_page_is_checked():
    assert PAGE.count("```json") == len(EXAMPLES) + 1  # and one work
    assert {name for name, _ in EXAMPLES} == set(EVENTS)


def test_the_work_of_the_page_can_be_loaded(tmp_path):
    text = re.search(r"<!-- work -->\n```json\n(.*?)```", PAGE, re.DOTALL)
    assert text is not None
    path = tmp_path / "works.jsonl"
    path.write_text(text[1].replace("\n", "") + "\n")
    (work,) = read_works(path)
    assert isinstance(work, Work)
    assert work.id == "doi:10.1136/jnnp.20.1.11"
    assert work.ids.pmid == "13406589"
    assert unknown_fields(work) == []


@pytest.mark.parametrize("topic", TOPICS.values(), ids=TOPICS.keys())
def test_every_topic_has_its_row_and_section(topic):
    cells = ROWS[topic.name]
    kept = cells[5].strip()
    if topic.cleanup == "compact":
        assert kept == "newest per key"
    else:
        assert kept == f"{int(topic.config['retention.ms']) // HOUR_MS // 24} days"
    anchor = re.search(r"\(#([a-z-]+)\)", cells[1])
    assert anchor is not None
    assert anchor[1] in {line[3:].lower().replace(" ", "-") for line in PAGE.splitlines() if line.startswith("## ")}
    if topic.partitions == 1:
        assert f"`{topic.name}`" in PAGE.split("have one partition")[0].splitlines()[-1]


def test_paired_topics_are_named():
    sentence = PAGE.split("must have as many partitions as each other")[0].rpartition(". ")[2]
    assert all(f"`{name}`" in sentence for name in PAIRED)


def test_every_schema_is_linked():
    assert [name for name in EVENTS if f"](../schemas/{file_of(name)})" not in PAGE] == []


def test_every_header_is_documented():
    headers = [papers.ENCODING_HEADER, papers.CONTENT_HEADER, papers.VERSION_HEADER, links.OUTCOME_HEADER]
    headers += [references.OFFSET_HEADER, dead_letter.EXCEPTION, dead_letter.MESSAGE, dead_letter.TOPIC]
    headers += [dead_letter.PARTITION, dead_letter.OFFSET, dead_letter.WORKER, dead_letter.ATTEMPT, dead_letter.RESOLVES]
    assert [each for each in (*headers, dead_letter.RESOLUTION) if f"`{each}`" not in PAGE] == []


@pytest.mark.parametrize("page", [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"], ids=lambda page: page.name)
def test_targets_of_links_exist(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target
