"""Kafka records as stages see them: consumed records, and messages to produce."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")

Headers = tuple[tuple[str, bytes], ...]
#: Topic without prefix, and number of the partition in it.
Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Received:
    """One consumed record. ``topic`` has no prefix; ``timestamp`` is in milliseconds since 1970."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int

    @property
    def address(self) -> str:
        """The address of the record, for errors and logs: ``topic[partition]@offset``."""
        return f"{self.topic}[{self.partition}]@{self.offset}"

    def header(self, name: str) -> str | None:
        """Return the last header with this name as text, or None."""
        for key, value in reversed(self.headers):
            if key == name:
                return value.decode("utf-8", "replace")
        return None


@dataclass(frozen=True, slots=True)
class Message:
    """One record to produce. ``partition``, else ``partition_key``, if given, determines the partition instead of ``key``."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition_key: bytes | None = None
    timestamp: int | None = None
    partition: int | None = None

    def size(self) -> int:
        """Return an upper estimate of the record's bytes as the broker's limit counts them."""
        headers = sum(len(name) + len(value) + 8 for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers + 100


def split(items: Iterable[tuple[int, Item]], limit: int) -> Iterator[list[Item]]:
    """Pack pairs of size and item, in order, into groups of at most ``limit`` bytes; a larger item forms its own group."""
    group: list[Item] = []
    size = 0
    for weight, item in items:
        if group and size + weight > limit:
            yield group
            group, size = [], 0
        group.append(item)
        size += weight
    if group:
        yield group
