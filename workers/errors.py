"""What ends a worker. Bad input never does: it raises ReflinkError in a stage and goes to the dead letters."""

from __future__ import annotations

from typing import ClassVar

from reflink.errors import ReflinkError


class WorkerError(ReflinkError):
    """Base: the worker stops, says why in one line and exits with ``exit_code``. Nothing uncommitted is lost."""

    exit_code: ClassVar[int] = 1


class BadSettings(WorkerError):
    """A setting is missing or invalid; the message names it."""

    exit_code = 2


class WrongTopic(WorkerError):
    """A topic is absent, or has partitions or a configuration that would break the guarantees."""

    exit_code = 3


class SlotTaken(WorkerError):
    """Another process uses this slot: the same transactional id, so each would fence the other."""

    exit_code = 4


class Fenced(WorkerError):
    """The broker accepts this slot's transactions no longer: a newer process has taken it over."""

    exit_code = 5


class DeadLetterFlood(WorkerError):
    """Too many records in a row, or of the recent ones, could not be handled: a bad deploy, not bad papers."""

    exit_code = 6


class Stalled(WorkerError):
    """A partition has records and makes no progress, or a call to the broker or to a stage does not return."""

    exit_code = 7


class BrokerUnreachable(WorkerError):
    """No broker answers at the addresses given."""

    exit_code = 9


class BrokerRefused(WorkerError):
    """The broker refuses what no retry can mend: credentials, authorisation, or a version too old."""

    exit_code = 8


class StoreFailed(WorkerError):
    """The state folder takes or gives nothing: full, forbidden, or the ledger's store in it was damaged and is removed."""

    exit_code = 10


class DeviceFull(WorkerError):
    """A device, mostly the GPU, has no memory for the catalog's vectors, at the start or as it grows, or for one reference."""

    exit_code = 11
