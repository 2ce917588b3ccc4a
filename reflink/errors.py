"""Every error reflink raises on purpose. Each says what was wrong, where, and what to do; the class is its name in metrics.

Anything else that escapes is a defect of reflink, not of its input.
"""

from __future__ import annotations


class ReflinkError(Exception):
    """Base of all named errors. ``str(error)`` is one line fit for an operator."""


class NotAPaper(ReflinkError):
    """The bytes are not a JATS/NLM/PMC article: not XML at all, or XML of another kind."""


class TooLarge(ReflinkError):
    """The input exceeds a stated limit (bytes, depth, references)."""


class BadRecord(ReflinkError):
    """One line or event that cannot be read: not JSON, or a field missing or of the wrong type."""


class ModelNotFound(ReflinkError):
    """A model's weights are absent or are not the ones they claim to be."""


class SnapshotError(ReflinkError):
    """A catalog folder is damaged, unfinished, or made by another model, mode, precision or format."""


class UnusableSnapshot(SnapshotError):
    """A snapshot that time or a fault has made useless: damaged, unfinished, of another format, too old for its topic.

    Nobody chose wrongly, so a worker goes on without it; other SnapshotErrors are for an operator to put right.
    """


class BadVector(ReflinkError):
    """A vector that has no direction: NaN, infinite or all zero values, or the wrong number of dimensions."""


class NoMemory(ReflinkError, MemoryError):
    """A device's free memory does not hold one text alone, of some megabytes at most: it is full of other things."""


class DeviceMissing(ReflinkError):
    """The device that was asked for is not on this machine; says how many there are."""


class DeviceTooSmall(ReflinkError):
    """A device's free memory does not hold the vectors and what a search of them needs; says how much is free and needed."""


class ExportFailed(ReflinkError):
    """The links cannot be written as files: the folder is taken, the disk is full, or a format's package is missing."""
