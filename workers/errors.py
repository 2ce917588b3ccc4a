"""Errors that end a worker. Invalid input never does: the stage raises ReflinkError, and the record becomes a dead letter."""

from __future__ import annotations

from typing import ClassVar

from reflink.errors import ReflinkError


class WorkerError(ReflinkError):
    """Base class: the worker stops with a one-line reason and exits with ``exit_code``. It loses no uncommitted record."""

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
    """The broker no longer accepts this slot's transactions: a newer process has taken the slot over."""

    exit_code = 5


class DeadLetterFlood(WorkerError):
    """Too many recent records, or too many in a row, could not be handled: a faulty deployment, not bad papers."""

    exit_code = 6


class Stalled(WorkerError):
    """A partition has records and makes no progress, or a call to the broker or to a stage does not return."""

    exit_code = 7


class BrokerUnreachable(WorkerError):
    """No broker answers at the configured addresses."""

    exit_code = 9


class BrokerRefused(WorkerError):
    """The broker refuses the client, and no retry can help: credentials, authorisation, or a version too old."""

    exit_code = 8


class StoreFailed(WorkerError):
    """The state folder cannot be written or read: full, forbidden, or the ledger's store in it was damaged and is removed."""

    exit_code = 10


class DeviceFull(WorkerError):
    """A device, usually the GPU, lacks memory for the catalog's vectors, at the start or as it grows, or for one reference."""

    exit_code = 11


class LoadRefused(WorkerError):
    """A load sent nothing: files of a source are missing, or too many works would be removed."""

    exit_code = 12


class ServiceUnavailable(WorkerError):
    """A service that a stage needs beside Kafka does not answer. A running worker tries the batch again; a start ends."""

    exit_code = 13


class ServiceRefused(WorkerError):
    """A service that a stage needs beside Kafka refuses the client, and no retry can help."""

    exit_code = 14


class DeviceFailed(WorkerError):
    """A GPU failed, for example it was lost or a kernel accessed invalid memory: this process cannot use it any more."""

    exit_code = 15
