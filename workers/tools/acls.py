"""The minimum rights of each worker and tool on the broker, derived from the topics that its stage reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from kafka.admin import ACL, ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourcePattern, ResourceType

from workers.config.settings import KafkaSettings
from workers.kafka.errors import refused
from workers.kafka.topics import TOPICS, TopicAdmin
from workers.stage import Stage
from workers.tools import smoke_test

Resource = Literal["topic", "group", "transactional-id"]
Pattern = Literal["literal", "prefixed"]
Operation = Literal["READ", "WRITE", "CREATE", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS"]


@dataclass(frozen=True, order=True)
class Grant:
    """The right to perform ``operation`` on the resource ``name``, or on all resources with that prefix."""

    resource: Resource
    name: str
    pattern: Pattern
    operation: Operation

    def arguments(self, principal: str) -> str:
        """Return the arguments of kafka-acls.sh that grant it to ``principal`` (``User:…``)."""
        operation = self.operation.title().replace("_", "")
        return (
            f"--add --allow-principal {principal} --operation {operation} --{self.resource} {self.name} "
            f"--resource-pattern-type {self.pattern}"
        )

    def acl(self, principal: str) -> ACL:
        """Return the same grant for the admin client."""
        pattern = ResourcePattern(
            ResourceType[self.resource.replace("-", "_").upper()], self.name, ACLResourcePatternType[self.pattern.upper()]
        )
        return ACL(principal, "*", ACLOperation[self.operation], ACLPermissionType.ALLOW, pattern)


#: Topics that each tool writes. ``tool_grants`` adds the rights to create topics.
TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "topics": (),
    "indexer": (),
    "load": ("catalog",),
    "publish": ("papers",),
    "withdraw": ("papers",),
    "dead-letters": ("dead-letters",),
    "snapshot": (),
    "export": (),
    "check": smoke_test.WRITES,
    "override": ("overrides",),
    "replay": ("retries",),
}

#: Topics that each tool reads.
_READ: Final[Mapping[str, tuple[str, ...]]] = {
    "dead-letters": ("dead-letters",),
    "load": ("catalog",),
    "indexer": ("catalog",),
    "snapshot": ("catalog",),
    "export": ("contexts", "links"),
    "check": smoke_test.READS,
    "withdraw": ("manifests",),
    "override": ("links", "overrides"),
    # The catalog and the shares of absent works for a dry run; the catalog also for the end of the topic.
    "replay": ("absence", "catalog", "links", "overrides"),
}

#: Tools that check the topics before they start, as workers do.
_CHECKING: Final = ("indexer", "withdraw", "snapshot", "export", "check", "override", "replay")


def worker_grants(stage: type[Stage[Any, Any]], prefix: str) -> list[Grant]:
    """Return the rights that the worker of this stage needs, sorted. ``prefix`` precedes topics, groups and transactional ids.

    The right to read or write a topic includes describing it. Describing its configuration, which a worker checks before it
    starts, is a separate right. Idempotent writing needs no separate right since Kafka 3.0.
    """
    read = {*stage.inputs, *stage.background_inputs, *stage.follows}
    written = {*stage.outputs, "dead-letters"}
    return sorted(
        [
            *_topics(prefix, read, "READ"),
            *_topics(prefix, written, "WRITE"),
            *_topics(prefix, read | written, "DESCRIBE_CONFIGS"),
            Grant("group", prefix + stage.name, "literal", "READ"),
            # Each slot of the worker has its own transactional id.
            Grant("transactional-id", f"{prefix}{stage.name}-", "prefixed", "WRITE"),
        ]
    )


def tool_grants(tool: str, prefix: str, inputs: Iterable[str] = ()) -> list[Grant]:
    """Return the rights of a tool in TOOLS. ``inputs``: all workers' input topics, which ``dead-letters replay`` may write."""
    grants = _topics(prefix, TOOLS[tool], "WRITE") + _topics(prefix, _READ.get(tool, ()), "READ")
    if tool in _CHECKING:
        grants += _topics(prefix, {*TOOLS[tool], *_READ[tool]}, "DESCRIBE_CONFIGS")
    if tool == "topics":
        for operation in ("CREATE", "DESCRIBE", "DESCRIBE_CONFIGS"):
            grants += _topics(prefix, TOPICS, operation)
    if tool == "dead-letters":
        grants += _topics(prefix, inputs, "WRITE")
        # The tool looks up the number of partitions of each topic.
        seen = {*inputs, "dead-letters"}
        grants += _topics(prefix, seen, "DESCRIBE") + _topics(prefix, seen, "DESCRIBE_CONFIGS")
        grants.append(Grant("transactional-id", f"{prefix}dead-letters-", "prefixed", "WRITE"))
    if tool == "replay":
        # Replay keeps its progress as offsets of its own group, and reads the linkers' progress on retries from theirs.
        grants += [Grant("group", f"{prefix}replay-", "prefixed", operation) for operation in ("READ", "DELETE")]
        grants.append(Grant("transactional-id", f"{prefix}replay-", "prefixed", "WRITE"))
        grants.append(Grant("group", f"{prefix}linker", "literal", "DESCRIBE"))
    return sorted(set(grants))


def give(settings: KafkaSettings, given: Sequence[tuple[str, Grant]]) -> None:
    """Create the rights of these principals on the broker; existing rights stay. Raises BrokerRefused."""
    with TopicAdmin(settings) as admin:
        failed = admin.admin.create_acls([grant.acl(principal) for principal, grant in given])["failed"]
    if failed:
        raise refused(failed[0]("rights cannot be given"), settings)


def _topics(prefix: str, names: Iterable[str], operation: Operation) -> list[Grant]:
    return [Grant("topic", prefix + name, "literal", operation) for name in names]
