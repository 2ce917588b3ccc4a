"""The contract between the runtime and a worker's stage: events in, messages out, nothing of Kafka's in between."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

Headers = tuple[tuple[str, bytes], ...]
Place = tuple[str, int]  # topic without prefix, partition


@dataclass(frozen=True, slots=True)
class Received:
    """One consumed record. ``topic`` is without prefix; ``timestamp`` in milliseconds since 1970."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int

    @property
    def place(self) -> str:
        """Where it came from, for errors and logs."""
        return f"{self.topic}[{self.partition}]@{self.offset}"

    def header(self, name: str) -> str | None:
        """The last header of that name, as text."""
        for key, value in reversed(self.headers):
            if key == name:
                return value.decode("utf-8", "replace")
        return None


@dataclass(frozen=True, slots=True)
class Message:
    """One record to produce. ``partition_key`` chooses the partition where it is not the key's."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition_key: bytes | None = None
    timestamp: int | None = None

    def size(self) -> int:
        """Bytes, as the broker's limit counts them, roughly and from above."""
        headers = sum(len(name) + len(value) + 8 for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers + 100


@dataclass
class Observed:
    """What a batch shows the metrics once it is committed."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    decisions: Counter[str] = field(default_factory=Counter)
    scores: list[tuple[str, float]] = field(default_factory=list)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    probabilities: list[tuple[str, float]] = field(default_factory=list)
    arrivals: list[tuple[int, bool]] = field(default_factory=list)
    #: Judgements asked for, by why.
    asked: Counter[str] = field(default_factory=Counter)
    #: When the changes of the catalog arrived that made what is published, in milliseconds.
    woken: list[int] = field(default_factory=list)
    tokens: int = 0
    #: By step within handling; see the metric.
    seconds: Counter[str] = field(default_factory=Counter)

    def add(self, other: Observed) -> None:
        """Takes the other's observations in."""
        self.outcomes.update(other.outcomes)
        self.decisions.update(other.decisions)
        self.scores += other.scores
        self.reasons.update(other.reasons)
        self.probabilities += other.probabilities
        self.arrivals += other.arrivals
        self.asked.update(other.asked)
        self.woken += other.woken
        self.tokens += other.tokens
        self.seconds.update(other.seconds)


@dataclass
class Output:
    """What handling a batch yields: messages for Kafka, writes for the stage's own store, observations for the metrics."""

    messages: list[Message] = field(default_factory=list)
    writes: dict[Hashable, bytes | None] = field(default_factory=dict)
    observed: Observed = field(default_factory=Observed)
    #: Of a chore: the partitions of inputs for which it is, which must be this worker's still when it is committed. With
    #: messages there is at least one.
    places: frozenset[Place] = frozenset()

    def add(self, other: Output) -> None:
        """Takes in the output of the records that came next."""
        self.messages += other.messages
        self.writes.update(other.writes)
        self.observed.add(other.observed)
        self.places |= other.places


class View(Protocol):
    """What a stage sees beyond its batch (a catalog, a store), as of the batch's beginning."""

    def after(self, output: Output) -> View:
        """The view of whoever comes after ``output`` in the same batch. A view that writes nothing returns itself."""
        ...


class NoView:
    """The view of a stage that needs nothing but its batch."""

    def after(self, output: Output) -> NoView:
        """Itself."""
        return self


E = TypeVar("E")
V = TypeVar("V", bound=View)
Item = TypeVar("Item")


class Stage(ABC, Generic[E, V]):
    """One worker's work. The runtime calls all methods but ``warm`` and ``close`` on one thread, one at a time."""

    #: The worker's name: its consumer group, its settings, its metrics.
    name: str
    #: Topics read, without prefix.
    inputs: tuple[str, ...]
    #: Topics read while no input lags by more than a batch; their records go into batches behind those of the inputs.
    background_inputs: tuple[str, ...] = ()
    #: At most so long a batch of these records alone waits for others; a hundred do not wait.
    background_linger_s: float = 0.0
    #: Topics written; the dead letters, which every worker writes, need not be named.
    outputs: tuple[str, ...] = ()
    #: Topics read outside the worker's group: a catalog that is followed, what a store is brought up from.
    follows: tuple[str, ...] = ()
    #: Whether a batch must be committed before the next is handled, since it changes what the next one sees.
    sequential: bool = False

    def warm(self) -> None:
        """Loads all that is slow (model, catalog), before the worker joins its group."""

    @abstractmethod
    def decode(self, record: Received) -> E:
        """The record's event. Raises ReflinkError when it holds none; the record then goes to the dead letters."""

    @abstractmethod
    def view(self, batch: Sequence[E]) -> V:
        """What this batch may look at. Waits, within a deadline of its own, until that is as new as the events demand."""

    @abstractmethod
    def handle(self, batch: Sequence[E], view: V) -> Output:
        """A pure function of its arguments: the same batch and view give the same output, however often it is called.

        An exception means that a record of the batch is poison: the runtime finds out which by halving the batch.
        """

    def chore(self) -> Output | None:
        """What the stage has to do that no record asks for, e.g. judging again what a new work may answer. None: nothing now.

        Called between batches, of sequential stages alone; one call takes some 50 ms at most. While live records wait, chores
        and their commits take at most a fifth of the time. Messages are committed in a transaction of their own, together with
        where ``Output.places`` stand, so that the broker refuses them from a worker that has lost its partitions. Without
        messages there is no transaction. Then ``committed`` hears of it.

        An output may come to nothing, and the stage is not told: a partition came, went or is yet to be read, or the
        transaction failed. So ``chore`` leaves the stage as it is, ``committed`` alone changes it, and what was not committed
        is offered again. What is raised here ends the worker: there is no record to blame.
        """
        return None

    def ready(self, record: Received, waited_s: float) -> bool:
        """Whether this record of a background input, which has waited for so long, can be handled without a wait.

        Those behind it wait with it. Called under a lock that polling needs: it must not wait itself.
        """
        return True

    def follow(self, seconds: float) -> bool:
        """Takes in news of the catalog for at most so long. Returns whether there was any."""
        return False

    def assigned(self, places: Sequence[Place]) -> None:
        """These partitions of the inputs are now this worker's; called before any of their records is handled.

        What their last worker committed can be read by then: no transaction is open on them.
        """

    def released(self, places: Sequence[Place]) -> None:
        """These partitions are another worker's now; nothing of theirs is in flight."""

    def committed(self, output: Output, offsets: Mapping[Place, int]) -> None:
        """A sequential stage's output is committed; ``offsets`` holds the last offset written to each partition."""

    def close(self) -> None:
        """Frees what ``warm`` took."""


def split(items: Iterable[tuple[int, Item]], limit: int) -> Iterator[list[Item]]:
    """Packs sized items in order into groups of at most ``limit`` bytes; an item above the limit stands alone."""
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
