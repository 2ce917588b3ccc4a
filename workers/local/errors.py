"""What can be wrong with a machine on which everything is to run."""

from reflink.errors import ReflinkError


class LocalSetupError(ReflinkError):
    """Something that the local pipeline needs is missing or failed; the message says which and what to do."""
