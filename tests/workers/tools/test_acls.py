"""The rights of each worker and tool, and the command that prints them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.workers.commands import Command
from workers.kafka.topics import TOPICS
from workers.ledger.stage import LedgerStage
from workers.linking.fallback_stage import FallbackStage
from workers.linking.linker_stage import LinkerStage
from workers.papers.stage import ParserStage
from workers.tools.acls import TOOLS, Grant, tool_grants, worker_grants

STAGES = {stage.name: stage for stage in (ParserStage, LinkerStage, FallbackStage, LedgerStage)}
INPUTS = {topic for stage in STAGES.values() for topic in (*stage.inputs, *stage.background_inputs)}


def names(grants: list[Grant], *operations: str) -> set[str]:
    return {grant.name for grant in grants if grant.resource == "topic" and grant.operation in operations}


def test_the_rights_of_a_worker_follow_from_its_stage():
    grants = worker_grants(LedgerStage, "p.")
    assert names(grants, "READ") == {"p.outcomes", "p.catalog", "p.links", "p.manifests", "p.overrides", "p.absence"}
    assert names(grants, "WRITE") == {"p.links", "p.manifests", "p.catalog", "p.retries", "p.absence", "p.dead-letters"}
    assert [grant for grant in grants if grant.resource != "topic"] == [
        Grant("group", "p.ledger", "literal", "READ"),
        Grant("transactional-id", "p.ledger-", "prefixed", "WRITE"),
    ]


@pytest.mark.parametrize("stage", STAGES.values())
def test_no_worker_may_create_or_change_topics(stage: Any):
    grants = worker_grants(stage, "p.")
    assert {grant.operation for grant in grants} == {"READ", "WRITE", "DESCRIBE_CONFIGS"}
    assert names(grants, "READ", "WRITE", "DESCRIBE_CONFIGS") <= {f"p.{name}" for name in TOPICS}
    assert grants == sorted(set(grants))


@pytest.mark.parametrize(("topic", "writer"), [("links", "ledger"), ("overrides", "override"), ("absence", "ledger")])
def test_links_overrides_and_shares_have_one_writer_each(topic: str, writer: str):
    grants = {name: worker_grants(stage, "p.") for name, stage in STAGES.items()}
    grants |= {tool: tool_grants(tool, "p.", ["papers"]) for tool in TOOLS}
    assert [name for name, each in grants.items() if f"p.{topic}" in names(each, "WRITE")] == [writer]


def test_an_export_may_only_read_links_and_contexts():
    assert {(grant.name, grant.operation) for grant in tool_grants("export", "p.")} == {
        (f"p.{topic}", operation) for topic in ("contexts", "links") for operation in ("READ", "DESCRIBE_CONFIGS")
    }


def test_the_command_shows_arguments_of_kafka_acls(monkeypatch: pytest.MonkeyPatch, command: Command):
    monkeypatch.setenv("REFLINK_TOPIC_PREFIX", "p.")
    lines = command("acls", "parser", "--principal", "User:CN={worker}")[1].splitlines()
    adds = "--add --allow-principal User:CN=parser --operation"
    assert f"{adds} Read --topic p.papers --resource-pattern-type literal" in lines
    assert f"{adds} DescribeConfigs --topic p.dead-letters --resource-pattern-type literal" in lines
    assert f"{adds} Write --transactional-id p.parser- --resource-pattern-type prefixed" in lines
    assert len(lines) == len(worker_grants(ParserStage, "p."))


def test_the_command_shows_json(command: Command):
    found = json.loads(command("acls", "--json")[1])
    assert {each["principal"] for each in found} == {f"User:{name}" for name in (*STAGES, *TOOLS)}
    replay = {
        (e["name"], e["operation"])
        for e in found
        if e["principal"] == "User:dead-letters" and e["resource"] == "topic" and not e["operation"].startswith("DESCRIBE")
    }
    writable = {(f"reflink.{topic}", "WRITE") for topic in {*INPUTS, "dead-letters"}}
    assert replay == writable | {("reflink.dead-letters", "READ")}


def test_an_unknown_worker_is_refused(command: Command):
    code, _, err = command("acls", "lexer")
    assert (code, "'lexer' is not one of parser, linker" in err) == (2, True)
