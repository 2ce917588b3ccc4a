"""Errors that reflink raises deliberately. The message states the fault, its place and the remedy; metrics use the class name.

Any other exception is a defect of reflink, not of its input.
"""

from __future__ import annotations


class ReflinkError(Exception):
    """Base of all named errors. ``str(error)`` is one line for an operator."""


class NotAPaper(ReflinkError):
    """The bytes are not a paper: of no known format, or broken beyond recovery."""


class TooLarge(ReflinkError):
    """The input exceeds a limit (bytes, depth, references)."""


class BadRecord(ReflinkError):
    """A line or event cannot be read: it is not JSON, or a field is missing or of the wrong type."""


class ModelNotFound(ReflinkError):
    """A model's weights are absent or differ from the expected ones."""


class SnapshotError(ReflinkError):
    """A catalog folder is damaged, unfinished, or made by another model, mode, precision or format."""


class UnusableSnapshot(SnapshotError):
    """A snapshot is damaged, unfinished, of another format, or too old for its topic.

    The cause is a fault or age, not a wrong setting, so a worker continues without the snapshot. Other SnapshotErrors need an
    operator.
    """


class BadVector(ReflinkError):
    """A vector has no direction (NaN, infinite or only zero values) or the wrong number of dimensions."""


class NoMemory(ReflinkError, MemoryError):
    """A device's free memory cannot hold a single text, which needs some megabytes at most: other data fill the memory."""


class DeviceMissing(ReflinkError):
    """The configured device is not on this machine, or cannot run the kernels; the message states why."""


class DeviceTooSmall(ReflinkError):
    """A device's free memory cannot hold the vectors and the memory of a search; the message states free and needed memory."""


class ReportFailed(ReflinkError):
    """The report of an evaluation cannot be drawn: the package for its plots is missing."""


class ExportFailed(ReflinkError):
    """The links cannot be exported: the folder exists, the disk is full, or a format's package is missing."""


class BadDump(ReflinkError):
    """The files of a source are missing, incomplete, or would remove too much of a catalog."""


class DamagedFile(ReflinkError):
    """The rest of a file cannot be read: it is truncated or damaged. The records before the fault are valid."""


class PackageMissing(ReflinkError):
    """An optional package is missing; the message names the extra that installs it."""


class StateFailed(ReflinkError):
    """The state of an updated catalog cannot be read or written: the disk is full, the files are damaged or in use."""
