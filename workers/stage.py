"""The contract between the runtime and a worker's stage.

The runtime passes consumed records to a stage and sends the messages that it returns; a stage never uses Kafka itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from workers.records import Message, Partition, Received


@dataclass
class Observed:
    """Observations of a batch, added to the metrics after its commit."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    decisions: Counter[str] = field(default_factory=Counter)
    #: Parsed papers, by format.
    papers: Counter[str] = field(default_factory=Counter)
    #: Parsed references, by the origin of their fields; see ``metrics.PARSED``.
    parsed: Counter[str] = field(default_factory=Counter)
    scores: list[tuple[str, float]] = field(default_factory=list)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    probabilities: list[tuple[str, float]] = field(default_factory=list)
    arrivals: list[tuple[int, bool]] = field(default_factory=list)
    #: Requested re-evaluations, by cause.
    requested: Counter[str] = field(default_factory=Counter)
    #: Arrival times of the catalog changes that caused published outcomes, in milliseconds since 1970.
    woken: list[int] = field(default_factory=list)
    #: Dead letters among the messages of a background task, by source topic and error.
    dead_letters: Counter[tuple[str, str]] = field(default_factory=Counter)
    tokens: int = 0
    #: Seconds by step of handling; see ``metrics.HANDLE_SECONDS``.
    seconds: Counter[str] = field(default_factory=Counter)

    def add(self, other: Observed) -> None:
        """Add the observations of ``other`` to these."""
        self.outcomes.update(other.outcomes)
        self.decisions.update(other.decisions)
        self.papers.update(other.papers)
        self.parsed.update(other.parsed)
        self.scores += other.scores
        self.reasons.update(other.reasons)
        self.probabilities += other.probabilities
        self.arrivals += other.arrivals
        self.requested.update(other.requested)
        self.woken += other.woken
        self.dead_letters.update(other.dead_letters)
        self.tokens += other.tokens
        self.seconds.update(other.seconds)


@dataclass
class Output:
    """The result of a batch: messages for Kafka, writes to the stage's own store, observations for the metrics."""

    messages: list[Message] = field(default_factory=list)
    writes: dict[Hashable, bytes | None] = field(default_factory=dict)
    observed: Observed = field(default_factory=Observed)
    #: For a background task: input partitions that the task acts for. The worker must still own them at commit. At least one
    #: is required if the task has messages.
    partitions: frozenset[Partition] = frozenset()

    def add(self, other: Output) -> None:
        """Append the output of the records that follow."""
        self.messages += other.messages
        self.writes.update(other.writes)
        self.observed.add(other.observed)
        self.partitions |= other.partitions


class View(Protocol):
    """The state that a stage reads beside its batch (a catalog, a store), as of the beginning of the batch."""

    def after(self, output: Output) -> View:
        """Return the view for the records after ``output`` in the same batch. A view without writes returns itself."""
        ...


class NoView:
    """The view of a stage that needs only its batch."""

    def after(self, output: Output) -> NoView:
        """Return this view."""
        return self


E = TypeVar("E")
V = TypeVar("V", bound=View)


class Stage(ABC, Generic[E, V]):
    """The work of one kind of worker: a function from a batch of events to messages.

    The runtime calls all methods except ``warm`` and ``close`` on one thread, one at a time.
    """

    #: The worker's name, which also names its consumer group, settings and metrics.
    name: str
    #: Topics that the worker consumes, without prefix.
    inputs: tuple[str, ...]
    #: Topics consumed while no input lags by more than a batch. In a batch their records come after the records of the inputs.
    background_inputs: tuple[str, ...] = ()
    #: Maximum seconds that a batch of background records alone waits for more; 100 records do not wait.
    background_linger_s: float = 0.0
    #: Topics that the stage writes, except the dead letters, which every worker writes.
    outputs: tuple[str, ...] = ()
    #: Topics read outside the consumer group: the catalog, or topics from which a store is restored.
    follows: tuple[str, ...] = ()
    #: Whether each batch must be committed before the next is handled, because it changes the view of the next.
    sequential: bool = False
    #: Whether the worker still owns a partition and is not ending. The runtime sets this function; code that waits in
    #: ``assigned`` calls it repeatedly and returns when it is False.
    wanted: Callable[[Partition], bool] = staticmethod(lambda _: True)

    def warm(self) -> None:
        """Load everything that is slow to load (model, catalog), before the worker joins its group."""

    @abstractmethod
    def decode(self, record: Received) -> E:
        """Return the record's event. Raises ReflinkError if the record is invalid; it then becomes a dead letter."""

    @abstractmethod
    def view(self, batch: Sequence[E]) -> V:
        """Return the view for this batch. Waits, with a deadline of its own, until it is as recent as the events require."""

    @abstractmethod
    def handle(self, batch: Sequence[E], view: V) -> Output:
        """Handle a batch. A pure function: repeated calls with the same batch and view return the same output.

        An exception means that the batch contains poison: the runtime halves the batch until it finds the record. Only
        ServiceUnavailable does not: the runtime tries the batch again, for as long as the worker owns its partitions.
        """

    def background_task(self) -> Output | None:
        """Return the output of the next background task, e.g. re-evaluating references; None if no work is pending.

        The runtime calls this between batches, for sequential stages only. One call should take at most about 50 ms. While
        live records wait, background tasks and their commits take at most a fifth of the time. Messages are committed in a
        transaction of their own, together with the unchanged offsets of ``Output.partitions``, so that the broker refuses them
        from a worker that has lost these partitions. An output without messages needs no transaction. After either, the
        runtime calls ``committed``.

        The runtime may discard an output without notifying the stage: if a partition arrived, left or must be read again, or
        if the transaction failed. Therefore ``background_task`` must not change the stage; only ``committed`` does, and the
        stage must return uncommitted work again. An exception ends the worker, because no record can have caused it.
        """
        return None

    def ready(self, record: Received, waited_s: float) -> bool:
        """Return whether this record of a background input, queued for ``waited_s`` seconds, can be handled without waiting.

        A record that is not ready also delays the background records behind it. The caller holds a lock that polling needs,
        so this method must not block.
        """
        return True

    def follow(self, seconds: float) -> bool:
        """Apply catalog changes for at most ``seconds``. Return whether there were any."""
        return False

    def assigned(self, partitions: Sequence[Partition]) -> None:
        """Take over input partitions. Called before any of their records is handled.

        The committed offset of each partition is stable: the transaction of its last owner is decided. Records that this
        transaction wrote to other topics may not be readable yet, because the broker writes the transaction markers partition
        by partition, in no defined order.
        """

    def released(self, partitions: Sequence[Partition]) -> None:
        """Give up partitions, which another worker may own now. None of their records is in flight."""

    def committed(self, output: Output, offsets: Mapping[Partition, int]) -> None:
        """Apply a committed output of a sequential stage. ``offsets``: the last offset written to each partition."""

    def close(self) -> None:
        """Release the resources that ``warm`` acquired."""
