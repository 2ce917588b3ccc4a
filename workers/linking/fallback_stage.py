"""The fallback stage: decides the references that the linker left open, with the candidates of a second search in addition.

It searches trigrams, or vectors if the linker searched trigrams (``REFLINK_FIRST_SEARCH``), or a search engine.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reflink.catalog import Catalog
from reflink.linking.candidates import Candidates
from reflink.linking.linker import lexical_step
from reflink.linking.native import native_candidates
from reflink.linking.policy import Policy, Profile
from reflink.stopwatch import Stopwatch
from reflink.verdict.judge import warm
from schemas import FallbackEvent, Outcome
from schemas.envelope import PaperEvent
from workers.catalog.follower import CatalogFollower
from workers.catalog.snapshot_opening import open_catalog
from workers.config.settings import FallbackSettings
from workers.engine.source import EngineSource
from workers.errors import BadSettings
from workers.linking.device_failures import raise_if_failed
from workers.linking.encoders import report_full_device
from workers.linking.events import JudgedBy, add_outcomes, outcome
from workers.linking.linker_stage import TRIGRAMS
from workers.linking.trigram_placement import TrigramPlacement, chosen_device
from workers.linking.vectors import VectorStage, open_trigrams
from workers.records import Received
from workers.stage import Output, Stage

if TYPE_CHECKING:
    from reflink.semantic import Encoder

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FallbackView:
    """Candidates at one version of the catalog, and the time of the decision in milliseconds.

    With trigrams first, works of this version whose vectors are late are not among the candidates yet, so a batch that is
    handled again may have more candidates.
    ``policy``: the policy of references of profile ``production``. ``encoder``: the encoder of references, None without a
    search of vectors.
    """

    source: Candidates
    policy: Policy
    now: int
    encoder: Encoder | None = None

    def after(self, output: Output) -> FallbackView:
        """Return this view, because linking does not change the catalog."""
        return self


class FallbackStage(VectorStage, Stage[FallbackEvent, FallbackView]):
    """The stage with the catalog's trigram index, or with encoders and its vectors, or with a search engine."""

    name = "fallback"
    inputs = ("fallback",)
    outputs = ("outcomes",)
    follows = ("catalog",)

    def __init__(
        self, settings: FallbackSettings, clock: Callable[[], float] = time.time, *, beside_linker: bool = False
    ) -> None:
        """``beside_linker``: the trigrams leave free memory of the GPU to a linker in this process."""
        self.settings, self._clock, self._beside_linker = settings, clock, beside_linker
        settings.check_precision()
        #: The search engine, None without one.
        self._engine: EngineSource | None = None
        #: The device of the trigrams, None without them.
        self._placement: TrigramPlacement | None = None
        #: Whether it encodes references and searches vectors.
        self._has_vectors = settings.engine == "native" and settings.first_search == "trigrams"
        #: Whether an event came from a linker with another ``first_search``.
        self._other_order = False

    def warm(self) -> None:
        """Open the catalog and read its topic to the end. Raises as a linker's ``warm``."""
        warm()  # fail at the start, not on a reference, if the verdict does not fit this code
        settings, native = self.settings, self.settings.engine == "native"
        if self._has_vectors:
            self._warm_vectors()
            self.follower.defer_vectors()
            return
        if native:
            self.catalog = open_trigrams(settings)
            assert self.catalog.trigrams is not None
            self._placement = TrigramPlacement(chosen_device(settings), **self._reserved())
            self._placement.place(self.catalog.trigrams)
        else:
            self.catalog = open_catalog(settings, vectors=False, trigrams=False, empty=Catalog.empty(lexical_mode=None))
        self.follower = CatalogFollower(settings, self.catalog, None)
        self.follower.wait_for(self.follower.start(), settings.call_deadline_s)
        if not native:
            self._engine = EngineSource(settings, self.catalog)
            self._engine.wait()

    def _reserved(self) -> dict[str, Any]:
        if not self._beside_linker:
            return {}
        from workers.linking.device_placement import still_needed

        return {"reserved": lambda: still_needed(len(self.catalog), self.settings)}

    def decode(self, record: Received) -> FallbackEvent:
        """Return the event of a record. Raises BadRecord."""
        return FallbackEvent.from_json(record.value or b"")

    def view(self, batch: Sequence[FallbackEvent]) -> FallbackView:
        """Return the catalog at the version that the semantic stage used, or a newer one, so that its candidates are known.

        Raises BadSettings if the events need trigrams and there are none, DeviceFailed if the GPU has failed.
        """
        if self.settings.engine == "native":
            self._check_order(batch)
        required = max((event.catalog_offset for event in batch), default=0)
        try:
            self.follower.wait_for(required, self.settings.call_deadline_s)
        except RuntimeError as error:  # also of a merge in the background
            raise_if_failed(error)
            raise
        now = int(self._clock() * 1000)
        if self._engine is not None:
            return FallbackView(self._engine.candidates(required), self.policy, now)
        encoder = self.encoder if self._has_vectors else None
        source = native_candidates(self.catalog, self.policy, encoder, self._of_works)
        return FallbackView(source, self.policy, now, encoder)

    def _check_order(self, batch: Sequence[FallbackEvent]) -> None:
        """Compare the linker's first search with the settings. Raises BadSettings for profile ``paper`` without trigrams.

        Otherwise a difference is not refused, because after a change of the setting the topic may hold events of both orders.
        """
        if self._has_vectors and any(event.profile == "paper" for event in batch):
            raise BadSettings(
                "REFLINK_FIRST_SEARCH=trigrams: references of a linker with REFLINK_PROFILE=paper need a search of trigrams: "
                "set vectors until the topic fallback has no lag, or for good"
            )
        names = {event.model for event in batch if event.model}
        if not self._other_order and any((name == TRIGRAMS) != self._has_vectors for name in names):
            self._other_order = True
            log.warning(
                "a linker left references open by the search of this fallback: REFLINK_FIRST_SEARCH must be the same for both",
                extra={"models": sorted(names)},
            )

    @property
    def policy(self) -> Policy:
        """The policy of the settings."""
        settings = self.settings
        return Policy(
            semantic_mode=settings.semantic_mode,
            lexical_mode=settings.lexical_mode,
            accept=settings.min_probability,
            precision=settings.link_precision,
            versions=settings.versions,
            first=settings.first,
        )

    def handle(self, batch: Sequence[FallbackEvent], view: FallbackView) -> Output:
        """Return the outcomes, one event per paper. Raises DeviceFull if the GPU has no memory for them, DeviceFailed.

        They carry the catalog offset, policy and share of absent works of the linker. Its catalog is the older of both
        versions, and the verdict here assumes the same share. The model is the linker's, or the encoder of this worker.
        """
        if self._placement is not None:
            return self._placement.searched(lambda: self._handle(batch, view))
        if view.encoder is None:
            return self._handle(batch, view)
        with report_full_device("even one reference", smallest=len(batch) == 1):  # else the runtime halves the batch
            return self._handle(batch, view)

    def _handle(self, batch: Sequence[FallbackEvent], view: FallbackView) -> Output:
        output, watch, encoder = Output(), Stopwatch(), view.encoder
        tokens_before, tokenised_s = (0, 0.0) if encoder is None else (encoder.tokens_read, encoder.spent.tokens_s)
        # One search for all references of a profile reads the index once.
        by_profile: dict[Profile, list[FallbackEvent]] = {}
        for event in batch:
            by_profile.setdefault(event.profile, []).append(event)
        judged: dict[tuple[int, JudgedBy], list[tuple[PaperEvent, Outcome]]] = {}
        for profile, events in by_profile.items():
            policy = replace(view.policy, profile=profile)
            opens = [item for event in events for item in event.items]
            absent = [event.absent for event in events for _ in event.items]
            links = iter(lexical_step(opens, view.source, policy, watch=watch, absent=absent))
            for event in events:
                by = JudgedBy(event.model if encoder is None else encoder.name, event.policy, event.absent)
                outcomes = judged.setdefault((event.catalog_offset, by), [])
                outcomes += [
                    (event, outcome(item.reference, next(links), view.source.catalog, item.forbidden)) for item in event.items
                ]
        for (offset, by), outcomes in judged.items():
            add_outcomes(output, outcomes, offset, view.now, by)
        if encoder is not None:
            output.observed.tokens = encoder.tokens_read - tokens_before
            watch.move(encoder.spent.tokens_s - tokenised_s, "model", "tokens")
        watch.lap("encode")
        output.observed.seconds.update(watch.seconds)
        return output

    def follow(self, seconds: float) -> bool:
        """Apply changes of the catalog, and encode its new works in the rest of the time. Raises DeviceFull."""
        if self._placement is not None and self.catalog.trigrams is not None:
            self._placement.show(self.catalog.trigrams)
        if not self._has_vectors:
            return self.follower.apply(seconds)
        self._show_memory()
        until = time.monotonic() + seconds
        changed = self.follower.apply(seconds)
        with report_full_device("new works", smallest=True):
            return self.follower.encode(until - time.monotonic()) or changed

    def close(self) -> None:
        """Stop following the catalog."""
        if hasattr(self, "follower"):
            self.follower.close()
        if self._engine is not None:
            self._engine.close()
