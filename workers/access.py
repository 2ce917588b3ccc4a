"""The least rights of each worker and tool on the broker, derived from what its stage says that it reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from kafka.admin import ACL, ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourcePattern, ResourceType

from workers import checking
from workers.clients import refused
from workers.settings import KafkaSettings
from workers.stage import Stage
from workers.topics import TOPICS, TopicAdmin

Resource = Literal["topic", "group", "transactional-id"]
Pattern = Literal["literal", "prefixed"]
Operation = Literal["READ", "WRITE", "CREATE", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS"]


@dataclass(frozen=True, order=True)
class Grant:
    """One right: to do ``operation`` with the resource of that name, or with all whose names begin so."""

    resource: Resource
    name: str
    pattern: Pattern
    operation: Operation

    def arguments(self, principal: str) -> str:
        """The arguments of kafka-acls.sh that give it to ``principal`` (``User:…``)."""
        operation = self.operation.title().replace("_", "")
        return (
            f"--add --allow-principal {principal} --operation {operation} --{self.resource} {self.name} "
            f"--resource-pattern-type {self.pattern}"
        )

    def acl(self, principal: str) -> ACL:
        """The same for the admin client."""
        pattern = ResourcePattern(
            ResourceType[self.resource.replace("-", "_").upper()], self.name, ACLResourcePatternType[self.pattern.upper()]
        )
        return ACL(principal, "*", ACLOperation[self.operation], ACLPermissionType.ALLOW, pattern)


#: What the tools write; what it takes to make the topics stands by itself.
TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "topics": (),
    "load": ("catalog",),
    "publish": ("papers",),
    "withdraw": ("papers",),
    "dead-letters": ("dead-letters",),
    "snapshot": (),
    "export": (),
    "check": checking.WRITES,
    "override": ("overrides",),
    "replay": ("retries",),
}

#: What the tools read.
_READ: Final[Mapping[str, tuple[str, ...]]] = {
    "dead-letters": ("dead-letters",),
    "snapshot": ("catalog",),
    "export": ("links",),
    "check": checking.READS,
    "override": ("links", "overrides"),
    "replay": ("catalog", "links", "overrides"),  # the catalog for a dry run, and for its end
}

#: Tools that look first, as workers do, whether the topics are as they must be.
_CHECKING: Final = ("snapshot", "export", "check", "override", "replay")


def worker_grants(stage: type[Stage[Any, Any]], prefix: str) -> list[Grant]:
    """What the worker of this stage needs, sorted, and nothing more. ``prefix`` stands before topics, groups and ids.

    Who may read or write a topic may describe it. Its configuration is another right: a worker checks it before it starts.
    Idempotent writing needs no right of its own since Kafka 3.0.
    """
    read = {*stage.inputs, *stage.background_inputs, *stage.follows}
    written = {*stage.outputs, "dead-letters"}
    return sorted(
        [
            *_topics(prefix, read, "READ"),
            *_topics(prefix, written, "WRITE"),
            *_topics(prefix, read | written, "DESCRIBE_CONFIGS"),
            Grant("group", prefix + stage.name, "literal", "READ"),
            # Its own transactions are those of its slots, and slots are many.
            Grant("transactional-id", f"{prefix}{stage.name}-", "prefixed", "WRITE"),
        ]
    )


def tool_grants(tool: str, prefix: str, inputs: Iterable[str] = ()) -> list[Grant]:
    """What a tool of TOOLS needs. ``inputs``: all workers' input topics, which ``dead-letters replay`` may write."""
    grants = _topics(prefix, TOOLS[tool], "WRITE") + _topics(prefix, _READ.get(tool, ()), "READ")
    if tool in _CHECKING:
        grants += _topics(prefix, {*TOOLS[tool], *_READ[tool]}, "DESCRIBE_CONFIGS")
    if tool == "topics":
        for operation in ("CREATE", "DESCRIBE", "DESCRIBE_CONFIGS"):
            grants += _topics(prefix, TOPICS, operation)
    if tool == "dead-letters":
        grants += _topics(prefix, inputs, "WRITE")
        # It looks up how many partitions each topic has.
        seen = {*inputs, "dead-letters"}
        grants += _topics(prefix, seen, "DESCRIBE") + _topics(prefix, seen, "DESCRIBE_CONFIGS")
        grants.append(Grant("transactional-id", f"{prefix}dead-letters-", "prefixed", "WRITE"))
    if tool == "replay":
        # How far it has come is kept as the position of a group; how far the linkers are with retries is that of theirs.
        grants += [Grant("group", f"{prefix}replay-", "prefixed", operation) for operation in ("READ", "DELETE")]
        grants.append(Grant("transactional-id", f"{prefix}replay-", "prefixed", "WRITE"))
        grants.append(Grant("group", f"{prefix}linker", "literal", "DESCRIBE"))
    return sorted(set(grants))


def give(settings: KafkaSettings, given: Sequence[tuple[str, Grant]]) -> None:
    """Makes the rights of these principals on the broker; what is there stays. Raises BrokerRefused."""
    with TopicAdmin(settings) as admin:
        failed = admin.admin.create_acls([grant.acl(principal) for principal, grant in given])["failed"]
    if failed:
        raise refused(failed[0]("rights cannot be given"), settings)


def _topics(prefix: str, names: Iterable[str], operation: Operation) -> list[Grant]:
    return [Grant("topic", prefix + name, "literal", operation) for name in names]
