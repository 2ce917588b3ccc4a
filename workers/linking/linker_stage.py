"""The linker's stage: decide references by identifiers, locators and vectors; send undecided ones to the fallback."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from reflink.catalog import Catalog
from reflink.entities import Link
from reflink.errors import DeviceMissing, NoMemory
from reflink.linking.linker import semantic_step
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
from workers.config.settings import Arithmetic, LinkerSettings
from workers.errors import BadSettings, DeviceFull
from workers.linking.events import JudgedBy, add_outcomes, fallback_messages, outcome
from workers.records import Received
from workers.stage import Output, Stage
from workers.telemetry import metrics

if TYPE_CHECKING:
    from reflink.semantic import Encoder

#: Maximum seconds in which a working follower reads a new offset.
_CHECK_S: Final = 2.0


@dataclass(frozen=True)
class LinkerView:
    """The catalog at one version, the encoder of references, and the time of the decision in milliseconds since 1970.

    ``shares``: the shares of absent works, instead of that of the policy.
    ``precise``: the encoder of works, for references whose best two candidates are too close for a faster encoder; None if
    works and references have the same encoder.
    """

    catalog: Catalog
    encoder: Encoder
    policy: Policy
    now: int
    precise: Encoder | None = None
    shares: Shares = field(default_factory=Shares)

    def after(self, output: Output) -> LinkerView:
        """Return this view: linking does not change the catalog."""
        return self


def load_encoder(settings: LinkerSettings, precision: Arithmetic) -> Encoder:
    """Load the settings' model with ``precision``. Raises ModelNotFound, and BadSettings if the device does not exist."""
    # Importing torch takes seconds, and only the linker and the snapshot builder need it.
    from reflink.semantic import Encoder

    try:
        return Encoder(
            settings.model,
            device=settings.device,
            precision=precision,
            token_budget=settings.token_budget,
            separator=settings.separator,
        )
    except DeviceMissing as error:
        raise BadSettings(f"REFLINK_DEVICE: {error}") from None


def load_encoders(settings: LinkerSettings) -> tuple[Encoder, Encoder]:
    """Return the encoders of works and of references: the same object if their precisions are equal. Raises ModelNotFound."""
    works = load_encoder(settings, settings.precision)
    from reflink.semantic.encoder.precision import choose_query_precision  # after load_encoder, which reports a missing torch

    wanted = settings.query_precision
    chosen = choose_query_precision(works.device, works.precision) if wanted == "auto" else wanted
    return works, works if chosen == works.precision else load_encoder(settings, chosen)


@contextmanager
def _report_full_device(what: str, *, smallest: bool) -> Iterator[None]:
    """Convert NoMemory to DeviceFull; with ``smallest`` (the smallest possible allocation) also errors of torch."""
    try:
        yield
    except (NoMemory, RuntimeError) as error:
        from reflink.semantic.encoder.token_budget import is_out_of_memory

        if not isinstance(error, NoMemory) and not (smallest and is_out_of_memory(error)):
            raise
        reason = " ".join(str(error).split())[:300]
        raise DeviceFull(f"no memory for {what}: {reason}; no data is lost: stop other programs on the device") from None


class LinkerStage(Stage[ReferenceEvent, LinkerView]):
    """Stage of the linker. Holds the encoders and the catalog's vectors, on the GPU if there is one."""

    name = "linker"
    inputs = ("references",)
    background_inputs = ("retries",)
    outputs = ("fallback", "outcomes")
    follows = ("catalog", "absence")

    def __init__(self, settings: LinkerSettings, clock: Callable[[], float] = time.time) -> None:
        self.settings, self._clock = settings, clock
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

        Raises ModelNotFound, SnapshotError, BadSettings (no such device) or DeviceFull.
        """
        settings = self.settings
        if settings.absent == "auto" and settings.profile == "production":
            self._absence = AbsenceFollower(settings)
            self._absence.start()
        else:
            show_fixed(self._fixed.overall)
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
        with _report_full_device("the catalog's vectors and works", smallest=True):
            device_placement.place(self.catalog.vectors, self._search_device, settings)
            self.follower.wait_for(self.follower.start(), settings.call_deadline_s)
            # The first pass through a model is slow, so it should not delay the first reference.
            self.encoder.encode(["warm"])

    def decode(self, record: Received) -> ReferenceEvent:
        """Parse the event. Raises BadRecord."""
        return ReferenceEvent.from_json(record.value or b"")

    def view(self, batch: Sequence[ReferenceEvent]) -> LinkerView:
        """Return a view of the catalog, at smallest at the version that the events from ``retries`` require."""
        with _report_full_device("new works", smallest=True):
            self.follower.wait_for(max((event.catalog_offset for event in batch), default=0), self.settings.call_deadline_s)
        now = int(self._clock() * 1000)
        return LinkerView(self.catalog, self.encoder, self.policy, now, self._of_works, self.view_shares)

    @property
    def view_shares(self) -> Shares:
        """The shares of absent works in use: those of the settings, or the learnt ones."""
        return self._fixed if self._absence is None else self._absence.shares

    def handle(self, batch: Sequence[ReferenceEvent], view: LinkerView) -> Output:
        """Return outcomes and open references, each as one event per paper (split at 512 KB). Raises DeviceFull.

        A text has at most as many tokens as the model reads (256), which take some megabytes. If even one text does not fit,
        other programs fill the device and the reference is not at fault.
        """
        with _report_full_device("even one reference", smallest=len(batch) == 1):  # else the runtime halves the batch
            return self._handle(batch, view)

    def _handle(self, batch: Sequence[ReferenceEvent], view: LinkerView) -> Output:
        pinned = [event for event in batch if event.pinned is not None]
        batch = [event for event in batch if event.pinned is None]
        references = [event.reference for event in batch]
        absent = [view.shares.of(event.citing) for event in batch]
        output, watch = Output(), Stopwatch()
        tokens_before, tokenised_s = view.encoder.tokens_read, view.encoder.spent.tokens_s
        settled = semantic_step(
            references,
            view.catalog,
            view.encoder,
            view.policy,
            watch=watch,
            precise=view.precise,
            forbidden=[event.forbidden for event in batch],
            absent=absent,
        )
        output.observed.tokens = view.encoder.tokens_read - tokens_before
        watch.move(view.encoder.spent.tokens_s - tokenised_s, "model", "tokens")
        for share in dict.fromkeys(absent):
            links: list[tuple[PaperEvent, Outcome]] = []
            opens: list[tuple[PaperEvent, Open]] = []
            for event, result, assumed in zip(batch, settled, absent, strict=True):
                if assumed != share:
                    continue
                if isinstance(result, Link):
                    links.append((event, outcome(event.reference, result, view.catalog, event.forbidden)))
                else:
                    opens.append((event, result))
            by = JudgedBy(view.encoder.name, replace(view.policy, absent=share).fingerprint(), share)
            add_outcomes(output, links, view.catalog.offset, view.now, by)
            output.messages += fallback_messages(opens, view.catalog.offset, view.policy.profile, by)
        by = JudgedBy(view.encoder.name, view.policy.fingerprint(), view.policy.absent)
        decided = [(event, _pinned(event, view.catalog)) for event in pinned]
        add_outcomes(output, decided, view.catalog.offset, view.now, by)
        watch.lap("encode")
        output.observed.seconds.update(watch.seconds)
        return output

    def ready(self, record: Received, waited_s: float) -> bool:
        """Return whether the works that the record requires are encoded: a batch that waited for them would delay live records.

        If the required offset has not appeared after ``_CHECK_S`` although the follower has no lag, the record counts as ready
        and ``view`` finds the cause.
        """
        required = required_offset(record.headers)
        return required <= self.catalog.offset or (waited_s > _CHECK_S and self.follower.lag == 0)

    def follow(self, seconds: float) -> bool:
        """Encode and add new works for at most ``seconds``. Return whether there were any. Raises DeviceFull."""
        self._show_memory()
        if self._absence is not None:
            self._absence.follow()
        with _report_full_device("new works", smallest=True):
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
            metrics.GPU_MEMORY_BYTES.set(sum(map(torch.cuda.memory_allocated, devices)))
            total = sum(int(torch.cuda.get_device_properties(each).total_memory) for each in devices)
            metrics.GPU_MEMORY_TOTAL_BYTES.set(total)

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
