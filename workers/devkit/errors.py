"""Errors in the setup of the local pipeline."""

from reflink.errors import ReflinkError


class LocalSetupError(ReflinkError):
    """A requirement of the local pipeline is missing or failed; the message names it and the remedy."""
