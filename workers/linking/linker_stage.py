"""The linker's stage: decide references by identifiers, locators and vectors; send undecided ones to the fallback.

With a search engine (``REFLINK_ENGINE``) it has neither encoder nor vectors: the engine's hits take the place of vectors.
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
from reflink.linking.native import NativeCandidates
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
from workers.linking.encoders import load_encoders, report_full_device
from workers.linking.events import JudgedBy, add_outcomes, fallback_messages, outcome
from workers.records import Received
from workers.stage import Output, Stage
from workers.telemetry import gpu_memory, metrics

if TYPE_CHECKING:
    from reflink.semantic import Encoder

#: The name of a search engine in events, where they otherwise name the encoder.
ENGINE: Final = "bm25"
#: Maximum seconds in which a working follower reads a new offset.
_CHECK_S: Final = 2.0


@dataclass(frozen=True)
class LinkerView:
    """Candidates at one version of the catalog, and the time of the decision in milliseconds since 1970.

    ``encoder``: the encoder of references, None with a search engine. ``shares``: the shares of absent works, instead of that
    of the policy.
    """

    source: Candidates
    policy: Policy
    now: int
    encoder: Encoder | None = None
    shares: Shares = field(default_factory=Shares)

    @property
    def model(self) -> str:
        """The name of what finds candidates by text, for the events."""
        return ENGINE if self.encoder is None else self.encoder.name

    def after(self, output: Output) -> LinkerView:
        """Return this view: linking does not change the catalog."""
        return self


class LinkerStage(Stage[ReferenceEvent, LinkerView]):
    """Stage of the linker. Holds the encoders and the catalog's vectors, on the GPU if there is one; or a search engine."""

    name = "linker"
    inputs = ("references",)
    background_inputs = ("retries",)
    outputs = ("fallback", "outcomes")
    follows = ("catalog", "absence")

    def __init__(self, settings: LinkerSettings, clock: Callable[[], float] = time.time) -> None:
        self.settings, self._clock = settings, clock
        #: The search engine, None without one.
        self._engine: EngineSource | None = None
        self._search_device: str | None = None
        #: The encoder of works if it differs from that of references, else None.
        self._of_works: Encoder | None = None
        #: Number of times the encoders ran out of memory, as already counted in the metrics.
        self._halved = 0
        self.policy = Policy(
            profile=settings.profile,
            threshold=settings.threshold,
            semantic_mode=settings.semantic_mode,
            sure=settings.sure,
            refuse=settings.refuse,
            accept=settings.min_probability,
            precision=settings.link_precision,
            versions=settings.versions,
        )
        settings.check_precision(0.5 if settings.absent == "auto" else settings.absent)
        self._fixed = Shares() if settings.absent == "auto" else Shares(settings.absent)
        #: The follower of the learnt shares; None if the settings fix the share.
        self._absence: AbsenceFollower | None = None

    def warm(self) -> None:
        """Load the model, open the catalog, place its vectors and read the catalog topic to its end.

        With a search engine, open the catalog without vectors and wait for the index. Raises ModelNotFound, SnapshotError,
        BadSettings (no such device), DeviceFull or EngineRefused.
        """
        settings = self.settings
        if settings.absent == "auto" and settings.profile == "production":
            self._absence = AbsenceFollower(settings)
            self._absence.start()
        else:
            show_fixed(self._fixed.overall)
        if settings.engine == "native":
            self._warm_native()
        else:
            self._warm_engine()

    def _warm_engine(self) -> None:
        settings = self.settings
        self.catalog = open_catalog(settings, vectors=False, trigrams=False, empty=Catalog.empty(lexical_mode=None))
        self._engine = EngineSource(settings, self.catalog)
        self.follower = CatalogFollower(settings, self.catalog, None)
        warm()
        self.follower.wait_for(self.follower.start(), settings.call_deadline_s)
        self._engine.wait()

    def _warm_native(self) -> None:
        settings = self.settings
        of_works, self.encoder = load_encoders(settings)
        self._of_works = None if of_works is self.encoder else of_works
        from workers.linking import device_placement

        self._search_device = device_placement.chosen_device(settings, self.encoder.device)
        metrics.MODEL_INFO.clear()
        metrics.MODEL_INFO.labels(of_works.name, of_works.precision).set(1)
        empty = Catalog.empty(
            dim=of_works.dim,
            model=of_works.name,
            precision=of_works.precision,
            mode=settings.semantic_mode,
            separator=of_works.separator,
            lexical_mode=None,
        )
        self.catalog = open_catalog(settings, vectors=True, trigrams=False, empty=empty)
        assert self.catalog.vectors is not None
        self.follower = CatalogFollower(settings, self.catalog, of_works, self._make_room)
        warm()  # fail now if the verdict does not fit this code: no reference would be at fault
        with report_full_device("the catalog's vectors and works", smallest=True):
            device_placement.place(self.catalog.vectors, self._search_device, settings)
            self.follower.wait_for(self.follower.start(), settings.call_deadline_s)
            # The first pass through a model is slow, so it should not delay the first reference.
            self.encoder.encode(["warm"])

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
        source = NativeCandidates(self.catalog, self.encoder, self._of_works)
        return LinkerView(source, self.policy, now, self.encoder, self.view_shares)

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
        """Encode and add new works for at most ``seconds``. Return whether there were any. Raises DeviceFull."""
        if self._engine is None:
            self._show_memory()
        else:
            self._engine.look()
        if self._absence is not None:
            self._absence.follow()
        with report_full_device("new works", smallest=True):
            return self.follower.apply(seconds)

    def _show_memory(self) -> None:
        memory = self.encoder.memory
        metrics.ENCODER_TOKEN_BUDGET.set(memory.tokens)
        halved = memory.halved + (0 if self._of_works is None else self._of_works.memory.halved)
        metrics.ENCODER_OUT_OF_MEMORY.inc(halved - self._halved)
        self._halved = halved
        if self.encoder.device.startswith("cuda") or self._search_device is not None:
            import torch

            devices = range(torch.cuda.device_count())
            total = sum(int(torch.cuda.get_device_properties(each).total_memory) for each in devices)
            gpu_memory.show(self.name, sum(map(torch.cuda.memory_allocated, devices)), total)

    def _make_room(self) -> bool:
        """Place the vectors again, in host memory if the device is full. Return False if the settings do not allow this."""
        if not self.settings.search_stream or self.catalog.vectors is None:
            return False
        from workers.linking import device_placement

        device_placement.place(self.catalog.vectors, self._search_device, self.settings)
        return True

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
