"""The rights of workers and tools are sufficient and minimal, with the broker's authorizer enabled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.admin import ACLFilter, ResourcePatternFilter
from kafka.errors import TopicAuthorizationFailedError

from reflink.entities import Work
from schemas import CatalogEvent
from tests.data import ROOT
from tests.kafka import create_topics, lag, new_prefix, read_all, send, worker_settings
from tests.secure import SecureBroker, environment, secure_broker
from tests.workers.catalog.test_snapshot_building import Words
from tests.workers.corpus import EXAMPLES
from tests.workers.echo import Echo, Running, running, until
from tests.workers.links import link
from workers.catalog.snapshot_building import make
from workers.cli import main
from workers.config.settings import KafkaSettings, LinkerSettings
from workers.errors import BrokerRefused
from workers.kafka.clients import plain_consumer, plain_producer
from workers.kafka.topics import TOPICS, TopicAdmin
from workers.ledger.stage import LedgerStage
from workers.linking.fallback_stage import FallbackStage
from workers.linking.linker_stage import LinkerStage
from workers.papers.stage import ParserStage
from workers.tools.acls import TOOLS, Grant, give, tool_grants, worker_grants
from workers.tools.link_export import export
from workers.tools.smoke_test import CheckFailed, check

pytestmark = pytest.mark.full

STAGES = {stage.name: stage for stage in (ParserStage, LinkerStage, FallbackStage, LedgerStage)}
#: The rights of Echo, with an empty topic prefix.
ECHO = worker_grants(Echo, "")


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    with secure_broker(tmp_path_factory.mktemp("access")) as broker:
        yield broker


@pytest.fixture(scope="module")
def admin(secure: SecureBroker) -> KafkaSettings:
    """Create topics for this module. Return the settings of a user with all rights."""
    return create_topics(secure.address("PLAINTEXT"), new_prefix(), partitions=1)


def take(settings: KafkaSettings, principal: str, grant: Grant) -> None:
    acl = grant.acl(principal)
    pattern = acl.resource_pattern
    which = ResourcePatternFilter(pattern.resource_type, pattern.resource_name, pattern.pattern_type)
    with TopicAdmin(settings) as admin:
        taken = admin.admin.delete_acls([ACLFilter(acl.principal, acl.host, acl.operation, acl.permission_type, which)])
    assert [len(each) for _, each, _ in taken] == [1]


def names(grants: list[Grant], *operations: str) -> set[str]:
    return {grant.name for grant in grants if grant.resource == "topic" and grant.operation in operations}


# The list of rights


def test_a_worker_may_do_what_its_stage_says():
    grants = worker_grants(LedgerStage, "p.")
    assert names(grants, "READ") == {"p.outcomes", "p.catalog", "p.links", "p.manifests", "p.overrides"}
    assert names(grants, "WRITE") == {"p.links", "p.manifests", "p.catalog", "p.retries", "p.dead-letters"}
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


def test_only_the_ledger_writes_links():
    writers = {name for name, stage in STAGES.items() if "p.links" in names(worker_grants(stage, "p."), "WRITE")}
    assert writers == {"ledger"}
    assert not any("p.links" in names(tool_grants(tool, "p.", ["papers"]), "WRITE") for tool in TOOLS)


def test_no_worker_writes_what_curators_say():
    assert not any("p.overrides" in names(worker_grants(stage, "p."), "WRITE") for stage in STAGES.values())
    assert [tool for tool in TOOLS if "p.overrides" in names(tool_grants(tool, "p.", ["papers"]), "WRITE")] == ["override"]


# The command


def shown(capsys: Any, *arguments: str) -> str:
    assert main(["acls", *arguments]) == 0
    return str(capsys.readouterr().out)


def test_the_command_shows_arguments_of_kafka_acls(monkeypatch: pytest.MonkeyPatch, capsys: Any):
    monkeypatch.setenv("REFLINK_TOPIC_PREFIX", "p.")
    lines = shown(capsys, "parser", "--principal", "User:CN={worker}").splitlines()
    adds = "--add --allow-principal User:CN=parser --operation"
    assert f"{adds} Read --topic p.papers --resource-pattern-type literal" in lines
    assert f"{adds} DescribeConfigs --topic p.dead-letters --resource-pattern-type literal" in lines
    assert f"{adds} Write --transactional-id p.parser- --resource-pattern-type prefixed" in lines
    assert len(lines) == len(worker_grants(ParserStage, "p."))


def test_the_command_shows_json(capsys: Any):
    found = json.loads(shown(capsys, "--json"))
    assert {each["principal"] for each in found} == {f"User:{name}" for name in (*STAGES, *TOOLS)}
    replay = {
        (e["name"], e["operation"])
        for e in found
        if e["principal"] == "User:dead-letters" and e["resource"] == "topic" and not e["operation"].startswith("DESCRIBE")
    }
    inputs = {topic for stage in STAGES.values() for topic in (*stage.inputs, *stage.background_inputs)}
    writable = {(f"reflink.{topic}", "WRITE") for topic in {*inputs, "dead-letters"}}
    assert replay == writable | {("reflink.dead-letters", "READ")}


def test_an_unknown_worker_is_refused(capsys: Any):
    assert main(["acls", "lexer"]) == 2
    assert "'lexer' is not one of parser, linker" in capsys.readouterr().err


def test_rights_cannot_be_given_without_the_right_to_give(secure: SecureBroker, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    for name, value in environment(secure.as_user("stranger")).items():
        monkeypatch.setenv(name, value)
    assert main(["acls", "parser", "--apply"]) == 8
    (line,) = capsys.readouterr().err.splitlines()
    assert "as stranger (SASL_SSL): no right to the cluster" in line


# No right is superfluous


@pytest.fixture(scope="module")
def echo(secure: SecureBroker, admin: KafkaSettings, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return settings of a user with exactly Echo's rights, after a check that these suffice."""
    give(admin, [("User:echo", grant) for grant in worker_grants(Echo, admin.topic_prefix)])
    settings = worker_settings(admin, tmp_path_factory.mktemp("echo"), **secure.as_user("echo"))
    send(admin, "references", [(b"a", b"value"), (b"b", b"bad")])
    with running(Echo(), settings):
        until(lambda: lag(admin, "echo", "references") == 0, what="all is committed")
    assert (len(read_all(admin, "outcomes")), len(read_all(admin, "dead-letters"))) == (1, 1)
    return settings


@pytest.mark.parametrize("number", range(len(ECHO)), ids=[f"{g.operation} {g.name or g.resource}" for g in ECHO])
def test_without_any_one_right_a_worker_fails_and_names_it(number: int, echo: Any, admin: KafkaSettings):
    grant = worker_grants(Echo, admin.topic_prefix)[number]
    take(admin, "User:echo", grant)
    try:
        worker = Running(Echo(), echo)
        worker.thread.join(40)
        assert isinstance(worker.error, BrokerRefused), worker.error
        said = str(worker.error)
        kind = {"topic": "topic", "group": "group", "transactional-id": "transactional id"}[grant.resource]
        assert f"no right to the {kind} {grant.name}" in said
        assert "as echo (SASL_SSL)" in said
        assert "`reflink-worker acls`" in said
        assert "\n" not in said
    finally:
        give(admin, [("User:echo", grant)])


# The rights of the real workers and tools suffice


@pytest.fixture(scope="module")
def rights(admin: KafkaSettings, secure: SecureBroker) -> None:
    """Grant the rights with the command itself."""
    variables = {**os.environ, **environment({"kafka_bootstrap_servers": admin.kafka_bootstrap_servers})}
    for more in (["parser", "linker", "fallback", "ledger"], ["publish", "--principal", "User:tools"]):
        subprocess.run(
            [sys.executable, "-m", "workers.cli", "acls", "--apply", *more],
            check=True,
            cwd=ROOT,
            env={**variables, "REFLINK_TOPIC_PREFIX": admin.topic_prefix},
        )


def test_each_worker_does_its_work_with_its_own_rights_only(
    rights: None, secure: SecureBroker, admin: KafkaSettings, tmp_path: Path
):
    common = {"REFLINK_TOPIC_PREFIX": admin.topic_prefix, "REFLINK_SLOT": "a", "REFLINK_STATE_DIR": str(tmp_path)}

    def command(user: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = (tmp_path / f"{arguments[0]}.log").open("wb")
        environ = {**os.environ, **environment(secure.as_user(user)), **common}
        return subprocess.Popen([sys.executable, "-m", "workers.cli", *arguments], stderr=log, cwd=ROOT, env=environ)

    assert command("tools", "publish", str(EXAMPLES / "papers"), "--quiet").wait(120) in (0, 1)
    workers = {name: command(name, name) for name in STAGES}
    try:

        def done() -> bool:
            for name, worker in workers.items():
                assert worker.poll() is None, (tmp_path / f"{name}.log").read_text()[-2000:]
            sent = {record.key for record in read_all(admin, "references")} - {b"a", b"b"}
            return bool(sent) and sent <= {(record.key or b"").split(b"#")[0] for record in read_all(admin, "links")}

        until(done, 200, "every paper has links")
    finally:
        for worker in workers.values():
            worker.send_signal(signal.SIGTERM)
        codes = {name: worker.wait(60) for name, worker in workers.items()}
    assert codes == dict.fromkeys(workers, 0)
    assert read_all(admin, "fallback")


@pytest.mark.parametrize(
    "tool",
    [
        ["topics", "--partitions", "1"],
        ["load", str(EXAMPLES / "works.jsonl"), "--quiet"],
        ["publish", str(next((EXAMPLES / "papers").rglob("*.xml"))), "--quiet"],
        ["withdraw", "doi:10.1/a", "--version", "1", "--timeout", "0.1"],
        ["override", "nothing", "doi:10.1/a#r1.1", "--reason", "none", "--unknown", "--quiet"],
        ["override", "list", "--quiet"],
        ["replay", "--name", "all", "--quiet"],
    ],
    ids=lambda tool: " ".join(tool[:2]) if tool[0] == "override" else tool[0],
)
def test_each_tool_does_its_work_with_its_own_rights_only(
    tool: list[str], secure: SecureBroker, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    prefix = new_prefix()
    admin = secure.as_admin(prefix)
    if tool[0] != "topics":
        create_topics(admin.kafka_bootstrap_servers, prefix, partitions=1)
    for name, value in environment(secure.as_user("tools", topic_prefix=prefix)).items():
        monkeypatch.setenv(name, value)
    assert main(tool) != 0
    give(admin, [("User:tools", grant) for grant in tool_grants(tool[0], prefix)])
    unanswered = 22  # no worker runs that could handle it
    assert main(tool) == (unanswered if tool[0] == "withdraw" else 0), capsys.readouterr().err


def test_dead_letters_are_replayed_and_dropped_with_their_own_rights_only(
    secure: SecureBroker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
):
    prefix = new_prefix()
    admin = create_topics(secure.address("PLAINTEXT"), prefix, partitions=1)
    send(admin, "references", [(b"a", b"bad"), (b"b", b"bad too")])
    with running(Echo(), worker_settings(admin, tmp_path)):
        until(lambda: lag(admin, "echo", "references") == 0)
    for name, value in environment(secure.as_user("tools", topic_prefix=prefix, state_dir=tmp_path)).items():
        monkeypatch.setenv(name, value)
    assert main(["dead-letters", "drop", "--all", "--quiet"]) != 0
    inputs = {topic for stage in STAGES.values() for topic in (*stage.inputs, *stage.background_inputs)}
    give(admin, [("User:tools", grant) for grant in tool_grants("dead-letters", prefix, inputs)])
    first, second = (str(record.offset) for record in read_all(admin, "dead-letters"))
    assert main(["dead-letters", "list"]) == 0
    assert main(["dead-letters", "replay", first, "--quiet"]) == 0, capsys.readouterr().err
    assert main(["dead-letters", "drop", second, "--quiet"]) == 0, capsys.readouterr().err
    assert len(read_all(admin, "references")) == 3


def test_a_replay_is_looked_at_and_forgotten_with_its_own_rights_only(
    secure: SecureBroker, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    prefix = new_prefix()
    admin = create_topics(secure.address("PLAINTEXT"), prefix, partitions=1)
    send(admin, "links", [(event.reference.id.encode(), event.to_json()) for event in (link("a#1"), link("a#2"))])
    for name, value in environment(secure.as_user("tools", topic_prefix=prefix)).items():
        monkeypatch.setenv(name, value)
    give(admin, [("User:tools", grant) for grant in tool_grants("replay", prefix)])
    assert main(["replay", "--name", "all", "--quiet"]) == 0, capsys.readouterr().err
    assert len(read_all(admin, "retries")) == 2
    capsys.readouterr()
    assert main(["replay", "--status"]) == 0
    assert "all" in capsys.readouterr().out
    assert main(["replay", "--name", "all", "--forget"]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert main(["replay", "--name", "all", "--forget"]) != 0
    assert "no replay is named all" in capsys.readouterr().err


def test_a_snapshot_is_made_with_its_own_rights_only(secure: SecureBroker, tmp_path: Path):
    prefix = new_prefix()
    admin = create_topics(secure.address("PLAINTEXT"), prefix, partitions=1)
    work = Work(id="doi:10.1/a", title="A title")
    send(admin, "catalog", [(b"doi:10.1/a", CatalogEvent(schema_version=1, work=work).to_json())])
    settings = LinkerSettings(**secure.as_user("tools", topic_prefix=prefix))
    with pytest.raises(BrokerRefused, match=f"no right to the topic {prefix}catalog"):
        make(tmp_path, settings, Words(), lexical_mode="Raw", keep=2)
    give(admin, [("User:tools", grant) for grant in tool_grants("snapshot", prefix)])
    assert make(tmp_path, settings, Words(), lexical_mode="Raw", keep=2).works == 1


def test_the_check_needs_its_own_rights_only(secure: SecureBroker, tmp_path: Path):
    prefix = new_prefix()
    admin = create_topics(secure.address("PLAINTEXT"), prefix, partitions=1)
    settings = KafkaSettings(**secure.as_user("tools", topic_prefix=prefix))
    with pytest.raises(BrokerRefused, match=f"no right to the topic {prefix}"):
        check(settings, 30)
    grants = tool_grants("check", prefix)
    papers = [grant for grant in grants if (grant.name, grant.operation) == (f"{prefix}papers", "WRITE")]
    give(admin, [("User:tools", grant) for grant in grants if grant not in papers])
    give(admin, [("User:tools", replace(grant, operation="DESCRIBE")) for grant in papers])
    with pytest.raises(CheckFailed, match="could not be withdrawn"):
        check(settings, 60)
    assert [record.value is None for record in read_all(admin, "catalog")] == [False, False, True], "the work was, all the same"
    give(admin, [("User:tools", grant) for grant in papers])
    with pytest.raises(CheckFailed, match=r"^parser: "):  # the first worker that is missing
        check(settings, 30)
    assert [record.value is None for record in read_all(admin, "papers")] == [False, True], "and it was withdrawn"
    assert [record.value is None for record in read_all(admin, "catalog")] == [False, False, True] * 2


@pytest.mark.parametrize("user", STAGES)
def test_a_worker_can_neither_read_nor_write_what_is_not_its_own(
    user: str, rights: None, secure: SecureBroker, admin: KafkaSettings
):
    grants = worker_grants(STAGES[user], admin.topic_prefix)
    settings = KafkaSettings(**secure.as_user(user), topic_prefix=admin.topic_prefix)
    all_topics = {admin.topic(name) for name in TOPICS}
    producer, consumer = plain_producer(settings), plain_consumer(settings)
    try:
        assert consumer.topics() == names(grants, "READ", "WRITE")
        for topic in all_topics - names(grants, "WRITE"):
            with pytest.raises(TopicAuthorizationFailedError):
                producer.send(topic, b"value").get(20)
        for topic in all_topics - names(grants, "READ"):
            with pytest.raises(TopicAuthorizationFailedError):
                read_one(consumer, TopicPartition(topic, 0))
    finally:
        producer.close(timeout=5)
        consumer.close()


def read_one(consumer: KafkaConsumer, place: TopicPartition) -> None:
    """Read until the first record. Raises if reading is forbidden."""
    consumer.assign([place])
    consumer.end_offsets([place])
    consumer.seek(place, 0)
    for _ in range(50):
        consumer.poll(timeout_ms=200)


def test_an_export_needs_its_own_rights_only(secure: SecureBroker, tmp_path: Path):
    prefix = new_prefix()
    create_topics(secure.address("PLAINTEXT"), prefix, partitions=1)
    settings = KafkaSettings(**secure.as_user("tools", topic_prefix=prefix))
    with pytest.raises(BrokerRefused, match=f"no right to the topic {prefix}links"):
        export(settings, tmp_path / "graph", ("jsonl",))
    grants = tool_grants("export", prefix)
    assert {(grant.name, grant.operation) for grant in grants} == {
        (f"{prefix}links", "READ"),
        (f"{prefix}links", "DESCRIBE_CONFIGS"),
    }
    give(create_topics(secure.address("PLAINTEXT"), prefix, partitions=1), [("User:tools", grant) for grant in grants])
    assert export(settings, tmp_path / "graph", ("jsonl",))["references"] == 0
