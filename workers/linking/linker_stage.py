"""The linker's stage: decide references by identifiers, locators and a first search; send undecided ones to the fallback.

The first search is of vectors, or of trigrams (``REFLINK_FIRST_SEARCH``), or a search engine's (``REFLINK_ENGINE``). Only for
vectors it has an encoder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from reflink.catalog import Catalog
from reflink.entities import Link
from reflink.linking.candidates import Candidates
from reflink.linking.linker import semantic_step
from reflink.linking.native import TrigramsFirst, native_candidates
from reflink.linking.policy import Open, Policy
from reflink.linking.shares import Shares
from reflink.stopwatch import Stopwatch
from reflink.verdict.judge import warm
from schemas import Outcome, ReferenceEvent
from schemas.envelope import PaperEvent
from schemas.references import required_offset
from workers.absence.follower import AbsenceFollower, show_fixed
from workers.catalog.follower import CatalogFollower
from workers.catalog.snapshot_opening import open_catalog
from workers.config.settings import LinkerSettings
from workers.engine.source import EngineSource
from workers.linking.encoders import report_full_device
from workers.linking.events import JudgedBy, add_outcomes, fallback_messages, outcome
from workers.linking.vectors import VectorStage, open_trigrams
from workers.records import Received
from workers.stage import Output, Stage

if TYPE_CHECKING:
    from reflink.semantic import Encoder

#: The names of a search engine and of a search by trigrams in events, where they otherwise name the encoder.
ENGINE: Final = "bm25"
TRIGRAMS: Final = "trigrams"
#: Maximum seconds in which a working follower reads a new offset.
_CHECK_S: Final = 2.0


@dataclass(frozen=True)
class LinkerView:
    """Candidates at one version of the catalog, and the time of the decision in milliseconds since 1970.

    ``encoder``: the encoder of references, None without a search of vectors. ``shares``: the shares of absent works, instead of
    that of the policy.
    """

    source: Candidates
    policy: Policy
    now: int
    encoder: Encoder | None = None
    shares: Shares = field(default_factory=Shares)

    @property
    def model(self) -> str:
        """The name of what finds candidates by text, for the events."""
        if self.encoder is not None:
            return self.encoder.name
        return TRIGRAMS if isinstance(self.source, TrigramsFirst) else ENGINE

    def after(self, output: Output) -> LinkerView:
        """Return this view: linking does not change the catalog."""
        return self


class LinkerStage(VectorStage, Stage[ReferenceEvent, LinkerView]):
    """Stage of the linker. Holds encoders and vectors, on the GPU if there is one; or trigrams; or a search engine."""

    name = "linker"
    inputs = ("references",)
    background_inputs = ("retries",)
    outputs = ("fallback", "outcomes")
    follows = ("catalog", "absence")
    settings: LinkerSettings

    def __init__(self, settings: LinkerSettings, clock: Callable[[], float] = time.time) -> None:
        self.settings, self._clock = settings, clock
        #: The search engine, None without one.
        self._engine: EngineSource | None = None
        #: Whether it encodes references and searches vectors.
        self._has_vectors = settings.engine == "native" and settings.first_search == "vectors"
        self.policy = Policy(
            profile=settings.profile,
            threshold=settings.threshold,
            semantic_mode=settings.semantic_mode,
            sure=settings.sure,
            refuse=settings.refuse,
            accept=settings.min_probability,
            precision=settings.link_precision,
            versions=settings.versions,
            first=settings.first,
            lexical_mode=settings.lexical_mode if settings.first == "trigrams" else Policy().lexical_mode,
        )
        settings.check_precision(0.5 if settings.absent == "auto" else settings.absent)
        self._fixed = Shares() if settings.absent == "auto" else Shares(settings.absent)
        #: The follower of the learnt shares; None if the settings fix the share.
        self._absence: AbsenceFollower | None = None

    def warm(self) -> None:
        """Open the catalog and read the catalog topic to its end, with vectors after loading the model, or with trigrams.

        With a search engine, open the catalog without an index and wait for that of the engine. Raises ModelNotFound,
        SnapshotError, BadSettings (no such device), DeviceFull or EngineRefused.
        """
        settings = self.settings
        if settings.absent == "auto" and settings.profile == "production":
            self._absence = AbsenceFollower(settings)
            self._absence.start()
        else:
            show_fixed(self._fixed.overall)
        warm()  # fail now if the verdict does not fit this code: no reference would be at fault
        if settings.engine != "native":
            self._warm_engine()
        elif self._has_vectors:
            self._warm_vectors()
        else:
            self.catalog = open_trigrams(settings)
            self.follower = CatalogFollower(settings, self.catalog, None)
            self.follower.wait_for(self.follower.start(), settings.call_deadline_s)

    def _warm_engine(self) -> None:
        settings = self.settings
        self.catalog = open_catalog(settings, vectors=False, trigrams=False, empty=Catalog.empty(lexical_mode=None))
        self._engine = EngineSource(settings, self.catalog)
        self.follower = CatalogFollower(settings, self.catalog, None)
        self.follower.wait_for(self.follower.start(), settings.call_deadline_s)
        self._engine.wait()

    def decode(self, record: Received) -> ReferenceEvent:
        """Parse the event. Raises BadRecord."""
        return ReferenceEvent.from_json(record.value or b"")

    def view(self, batch: Sequence[ReferenceEvent]) -> LinkerView:
        """Return a view of the catalog, at least at the version that the events from ``retries`` require."""
        required = max((event.catalog_offset for event in batch), default=0)
        with report_full_device("new works", smallest=True):
            self.follower.wait_for(required, self.settings.call_deadline_s)
        now = int(self._clock() * 1000)
        if self._engine is not None:
            return LinkerView(self._engine.candidates(required), self.policy, now, shares=self.view_shares)
        encoder = self.encoder if self._has_vectors else None
        source = native_candidates(self.catalog, self.policy, encoder, self._of_works)
        return LinkerView(source, self.policy, now, encoder, self.view_shares)

    @property
    def view_shares(self) -> Shares:
        """The shares of absent works in use: those of the settings, or the learnt ones."""
        return self._fixed if self._absence is None else self._absence.shares

    def handle(self, batch: Sequence[ReferenceEvent], view: LinkerView) -> Output:
        """Return outcomes and open references, each as one event per paper (split at 512 KB). Raises DeviceFull.

        A text has at most as many tokens as the model reads (256), which take some megabytes. If even one text does not fit,
        other programs fill the device and the reference is not at fault.
        """
        with report_full_device("even one reference", smallest=len(batch) == 1):  # else the runtime halves the batch
            return self._handle(batch, view)

    def _handle(self, batch: Sequence[ReferenceEvent], view: LinkerView) -> Output:
        pinned = [event for event in batch if event.pinned is not None]
        batch = [event for event in batch if event.pinned is None]
        references = [event.reference for event in batch]
        absent = [view.shares.of(event.citing) for event in batch]
        output, watch, encoder = Output(), Stopwatch(), view.encoder
        tokens_before, tokenised_s = (0, 0.0) if encoder is None else (encoder.tokens_read, encoder.spent.tokens_s)
        forbidden = [event.forbidden for event in batch]
        settled = semantic_step(references, view.source, view.policy, watch=watch, forbidden=forbidden, absent=absent)
        if encoder is not None:
            output.observed.tokens = encoder.tokens_read - tokens_before
            watch.move(encoder.spent.tokens_s - tokenised_s, "model", "tokens")
        for share in dict.fromkeys(absent):
            links: list[tuple[PaperEvent, Outcome]] = []
            opens: list[tuple[PaperEvent, Open]] = []
            for event, result, assumed in zip(batch, settled, absent, strict=True):
                if assumed != share:
                    continue
                if isinstance(result, Link):
                    links.append((event, outcome(event.reference, result, view.source.catalog, event.forbidden)))
                else:
                    opens.append((event, result))
            by = JudgedBy(view.model, replace(view.policy, absent=share).fingerprint(), share)
            add_outcomes(output, links, view.source.offset, view.now, by)
            output.messages += fallback_messages(opens, view.source.offset, view.policy.profile, by)
        by = JudgedBy(view.model, view.policy.fingerprint(), view.policy.absent)
        decided = [(event, _pinned(event, view.source.catalog)) for event in pinned]
        add_outcomes(output, decided, view.source.offset, view.now, by)
        watch.lap("encode")
        output.observed.seconds.update(watch.seconds)
        return output

    def ready(self, record: Received, waited_s: float) -> bool:
        """Return whether the works that the record requires are encoded: a batch that waited for them would delay live records.

        If the required offset has not appeared after ``_CHECK_S`` although the follower has no lag, the record counts as ready
        and ``view`` finds the cause.
        """
        required = required_offset(record.headers)
        if self._engine is not None and self._engine.seen < required <= self.catalog.offset:
            return False  # the indexer will bring the works
        return required <= self.catalog.offset or (waited_s > _CHECK_S and self.follower.lag == 0)

    def follow(self, seconds: float) -> bool:
        """Add new works for at most ``seconds``, encoded for vectors. Return whether there were any. Raises DeviceFull."""
        if self._has_vectors:
            self._show_memory()
        elif self._engine is not None:
            self._engine.look()
        if self._absence is not None:
            self._absence.follow()
        with report_full_device("new works", smallest=True):
            return self.follower.apply(seconds)

    def close(self) -> None:
        """Stop following the topics."""
        if self._absence is not None:
            self._absence.close()
        if hasattr(self, "follower"):
            self.follower.close()
        if self._engine is not None:
            self._engine.close()


def _pinned(event: ReferenceEvent, catalog: Catalog) -> Outcome:
    """Return the link to the work that a curator pinned: its canonical id and its status in this catalog."""
    assert event.pinned is not None
    cited = catalog.canonical(event.pinned)
    work = catalog.get(cited)
    link = Link(
        reference=event.reference.id, citing=event.citing, cited=cited, method="curator",
        status=None if work is None else work.status,
    )  # fmt: skip
    return outcome(event.reference, link, catalog, pinned=event.pinned)
