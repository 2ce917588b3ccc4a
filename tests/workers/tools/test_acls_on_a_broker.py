"""The rights of workers and tools are sufficient and minimal on a broker with an authorizer."""

from __future__ import annotations

import signal
import subprocess
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
from tests.kafka import create_topics, lag, new_prefix, read_all, send, worker_settings
from tests.secure import SecureBroker, environment, secure_broker
from tests.workers.catalog.test_snapshot_building import Words
from tests.workers.commands import Command, start
from tests.workers.corpus import EXAMPLES
from tests.workers.echo import Echo, Running, running, until
from tests.workers.links import link
from tests.workers.tools.test_acls import INPUTS, STAGES, names
from workers.catalog.snapshot_building import make
from workers.config.settings import KafkaSettings, LinkerSettings, read
from workers.errors import BrokerRefused
from workers.kafka.clients import plain_consumer, plain_producer
from workers.kafka.topics import TOPICS, TopicAdmin
from workers.tools.acls import Grant, give, tool_grants, worker_grants
from workers.tools.smoke_test import CheckFailed, check

pytestmark = pytest.mark.full

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


def revoke(settings: KafkaSettings, principal: str, grant: Grant) -> None:
    acl = grant.acl(principal)
    pattern = acl.resource_pattern
    which = ResourcePatternFilter(pattern.resource_type, pattern.resource_name, pattern.pattern_type)
    with TopicAdmin(settings) as admin:
        revoked = admin.admin.delete_acls([ACLFilter(acl.principal, acl.host, acl.operation, acl.permission_type, which)])
    assert [len(each) for _, each, _ in revoked] == [1]


def set_variables(monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]) -> None:
    for name, value in environment(settings).items():
        monkeypatch.setenv(name, value)


def test_a_user_that_cannot_alter_rights_is_refused(secure: SecureBroker, monkeypatch: pytest.MonkeyPatch, command: Command):
    set_variables(monkeypatch, secure.as_user("stranger"))
    code, _, err = command("acls", "parser", "--apply")
    (line,) = err.splitlines()
    assert (code, "as stranger (SASL_SSL): no right to the cluster" in line) == (8, True)


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
def test_a_worker_without_one_of_its_rights_fails_and_names_it(number: int, echo: Any, admin: KafkaSettings):
    grant = worker_grants(Echo, admin.topic_prefix)[number]
    revoke(admin, "User:echo", grant)
    try:
        worker = Running(Echo(), echo)
        worker.thread.join(40)
        assert isinstance(worker.error, BrokerRefused), worker.error
        message = str(worker.error)
        kind = {"topic": "topic", "group": "group", "transactional-id": "transactional id"}[grant.resource]
        assert f"no right to the {kind} {grant.name}" in message
        assert "as echo (SASL_SSL)" in message
        assert "`reflink-worker acls`" in message
        assert "\n" not in message
    finally:
        give(admin, [("User:echo", grant)])


# The rights of the real workers and tools suffice


@pytest.fixture(scope="module")
def rights(admin: KafkaSettings, secure: SecureBroker) -> None:
    """Grant the rights with the command itself."""
    for more in (list(STAGES), ["publish", "--principal", "User:tools"]):
        assert start("workers.cli", "acls", "--apply", *more, kafka=admin).wait(60) == 0


def test_each_worker_does_its_work_with_its_own_rights_only(
    rights: None, secure: SecureBroker, admin: KafkaSettings, tmp_path: Path
):
    common = {"REFLINK_TOPIC_PREFIX": admin.topic_prefix, "REFLINK_SLOT": "a", "REFLINK_STATE_DIR": str(tmp_path)}

    def command(user: str, *arguments: object) -> subprocess.Popen[bytes]:
        log = (tmp_path / f"{arguments[0]}.log").open("wb")
        return start("workers.cli", *arguments, stderr=log, env={**environment(secure.as_user(user)), **common})

    assert command("tools", "publish", EXAMPLES / "papers", "--quiet").wait(120) in (0, 1)
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


@pytest.fixture
def own(secure: SecureBroker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> KafkaSettings:
    """Create topics for the test, and set the environment of the user ``tools``. Return settings of a user with all rights."""
    own = create_topics(secure.address("PLAINTEXT"), new_prefix(), partitions=1)
    set_variables(monkeypatch, secure.as_user("tools", topic_prefix=own.topic_prefix, state_dir=tmp_path))
    return own


def give_tool(admin: KafkaSettings, tool: str) -> None:
    """Give the user ``tools`` all rights of the tool."""
    give(admin, [("User:tools", grant) for grant in tool_grants(tool, admin.topic_prefix, INPUTS)])


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
        ["export", "--format", "jsonl", "--quiet", "--out"],
    ],
    ids=lambda tool: " ".join(tool[:2]) if tool[0] == "override" else tool[0],
)
def test_each_tool_does_its_work_with_its_own_rights_only(
    tool: list[str], own: KafkaSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
):
    arguments = [*tool, tmp_path / "graph"] if tool[0] == "export" else tool
    if tool[0] == "topics":  # creates them
        own = own.model_copy(update={"topic_prefix": new_prefix()})
        monkeypatch.setenv("REFLINK_TOPIC_PREFIX", own.topic_prefix)
    assert command(*arguments)[0] != 0
    give_tool(own, tool[0])
    code, _, err = command(*arguments)
    unanswered = 22  # no worker runs that could handle it
    assert code == (unanswered if tool[0] == "withdraw" else 0), err


def test_dead_letters_are_replayed_and_dropped_with_their_own_rights_only(own: KafkaSettings, tmp_path: Path, command: Command):
    send(own, "references", [(b"a", b"bad"), (b"b", b"bad too")])
    with running(Echo(), worker_settings(own, tmp_path, kafka_security_protocol="PLAINTEXT")):
        until(lambda: lag(own, "echo", "references") == 0)
    assert command("dead-letters", "drop", "--all", "--quiet")[0] != 0
    give_tool(own, "dead-letters")
    first, second = (record.offset for record in read_all(own, "dead-letters"))
    for arguments in (["list"], ["replay", first, "--quiet"], ["drop", second, "--quiet"]):
        code, _, err = command("dead-letters", *arguments)
        assert code == 0, err
    assert len(read_all(own, "references")) == 3


def test_a_replay_is_listed_and_forgotten_with_its_own_rights_only(own: KafkaSettings, command: Command):
    send(own, "links", [(event.reference.id.encode(), event.to_json()) for event in (link("a#1"), link("a#2"))])
    give_tool(own, "replay")
    assert command("replay", "--name", "all", "--quiet")[::2] == (0, "")
    assert len(read_all(own, "retries")) == 2
    code, out, _ = command("replay", "--status")
    assert (code, "all" in out) == (0, True)
    assert command("replay", "--name", "all", "--forget")[::2] == (0, "")
    code, _, err = command("replay", "--name", "all", "--forget")
    assert (code != 0, "no replay is named all" in err) == (True, True)


def test_a_snapshot_is_made_with_its_own_rights_only(own: KafkaSettings, tmp_path: Path):
    work = Work(id="doi:10.1/a", title="A title")
    send(own, "catalog", [(b"doi:10.1/a", CatalogEvent(schema_version=1, work=work).to_json())])
    settings = read(LinkerSettings)
    with pytest.raises(BrokerRefused, match=f"no right to the topic {own.topic('catalog')}"):
        make(tmp_path, settings, Words(), lexical_mode="Raw", keep=2)
    give_tool(own, "snapshot")
    assert make(tmp_path, settings, Words(), lexical_mode="Raw", keep=2).works == 1


def test_the_check_needs_its_own_rights_only(own: KafkaSettings):
    settings = read(KafkaSettings)
    with pytest.raises(BrokerRefused, match=f"no right to the topic {own.topic_prefix}"):
        check(settings, 30)
    grants = tool_grants("check", own.topic_prefix)
    papers = [grant for grant in grants if (grant.name, grant.operation) == (own.topic("papers"), "WRITE")]
    give(own, [("User:tools", grant) for grant in grants if grant not in papers])
    give(own, [("User:tools", replace(grant, operation="DESCRIBE")) for grant in papers])
    with pytest.raises(CheckFailed, match="could not be withdrawn"):
        check(settings, 60)
    assert [record.value is None for record in read_all(own, "catalog")] == [False, False, True], "the work was withdrawn"
    give(own, [("User:tools", grant) for grant in papers])
    with pytest.raises(CheckFailed, match=r"^parser: "):  # the first worker that is missing
        check(settings, 30)
    assert [record.value is None for record in read_all(own, "papers")] == [False, True], "the paper was withdrawn"
    assert [record.value is None for record in read_all(own, "catalog")] == [False, False, True] * 2


@pytest.mark.parametrize("user", STAGES)
def test_a_worker_can_neither_read_nor_write_other_topics(user: str, rights: None, secure: SecureBroker, admin: KafkaSettings):
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
