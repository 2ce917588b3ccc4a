"""Topic ``fallback``: the references of one paper and batch that the semantic stage did not settle, with what it found."""

from __future__ import annotations

from reflink.policy import Open, Profile
from schemas.envelope import JudgedEvent


class FallbackEvent(JudgedEvent):
    """Key: citing id. ``catalog_offset`` is the version at which the semantic stage looked.

    ``profile`` is the linker's, so that both stages of a reference follow the same one.
    """

    catalog_offset: int
    profile: Profile = "production"
    items: tuple[Open, ...]
