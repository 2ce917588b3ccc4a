"""Topic ``fallback``: the references of one paper and batch that the semantic stage did not settle, with its candidates."""

from __future__ import annotations

from reflink.linking.policy import Open, Profile
from schemas.envelope import JudgedEvent


class FallbackEvent(JudgedEvent):
    """References for the fallback worker. Key: citing id.

    ``catalog_offset`` is the catalog version that the semantic stage searched. ``profile`` is the linker's, so that both stages
    use the same profile for a reference.
    """

    catalog_offset: int
    profile: Profile = "production"
    items: tuple[Open, ...]
