"""Linker: references to outcomes by identifiers and meaning; what stays open goes to the fallback."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reflink.catalog import Catalog
from reflink.entities import Link
from reflink.errors import DeviceMissing, NoMemory
from reflink.linker import semantic_step
from reflink.policy import Open, Policy
from reflink.stopwatch import Stopwatch
from reflink.verdict.judge import warm
from schemas import Outcome, ReferenceEvent
from schemas.envelope import PaperEvent
from schemas.references import least_offset
from workers import metrics
from workers.errors import BadSettings, DeviceFull
from workers.following import CatalogFollower
from workers.outgoing import JudgedBy, add_outcomes, fallback_messages
from workers.settings import Arithmetic, LinkerSettings
from workers.snapshots import open_catalog
from workers.stage import Output, Received, Stage

if TYPE_CHECKING:
    from reflink.semantic import Encoder

#: A catalog that is read at all hears of an offset sooner.
_DOUBT_S: Final = 2.0


@dataclass(frozen=True)
class LinkerView:
    """The catalog at one version, the encoder of references, and the time of judgement in milliseconds.

    ``precise``: the encoder of works, for references whose best two are too close for a faster one.
    """

    catalog: Catalog
    encoder: Encoder
    policy: Policy
    now: int
    precise: Encoder | None = None

    def after(self, output: Output) -> LinkerView:
        """Itself: linking changes no catalog."""
        return self


def load_encoder(settings: LinkerSettings, precision: Arithmetic) -> Encoder:
    """The settings' model, computing so. Raises ModelNotFound, and BadSettings for a device that is not here."""
    # torch takes seconds to import, and only the linker and the maker of snapshots need it.
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
    """The encoder of works and that of references: one and the same where both compute alike. Raises ModelNotFound."""
    works = load_encoder(settings, settings.precision)
    from reflink.semantic.precision import choose_query_precision  # not before it was told that torch is absent

    wanted = settings.query_precision
    chosen = choose_query_precision(works.device, works.precision) if wanted == "auto" else wanted
    return works, works if chosen == works.precision else load_encoder(settings, chosen)


@contextmanager
def _memory_told(what: str, *, least: bool) -> Iterator[None]:
    """Raises DeviceFull in place of what torch says when a device has no memory, when it was for the ``least`` possible."""
    try:
        yield
    except (NoMemory, RuntimeError) as error:
        from reflink.semantic.token_budget import is_out_of_memory

        if not isinstance(error, NoMemory) and not (least and is_out_of_memory(error)):
            raise
        told = " ".join(str(error).split())[:300]
        raise DeviceFull(f"no memory for {what}: {told}; nothing is lost: free the device of what else runs there") from None


class LinkerStage(Stage[ReferenceEvent, LinkerView]):
    """Holds the encoders and the catalog's vectors, on the GPU where there is one."""

    name = "linker"
    inputs = ("references",)
    background_inputs = ("retries",)
    outputs = ("fallback", "outcomes")
    follows = ("catalog",)

    def __init__(self, settings: LinkerSettings, clock: Callable[[], float] = time.time) -> None:
        self.settings, self._clock = settings, clock
        self._search_device: str | None = None
        #: The encoder of works, where it is another than that of references.
        self._of_works: Encoder | None = None
        #: How often the encoders' memory ran out, as the metrics have it.
        self._halved = 0
        self.policy = Policy(
            profile=settings.profile,
            threshold=settings.threshold,
            semantic_mode=settings.semantic_mode,
            sure=settings.sure,
            refuse=settings.refuse,
            accept=settings.accept(),
            absent=settings.absent,
        )

    def warm(self) -> None:
        """Loads the model, opens the catalog, places its vectors and reads its topic to the end.

        Raises ModelNotFound, SnapshotError, BadSettings (no such device) or DeviceFull.
        """
        settings = self.settings
        of_works, self.encoder = load_encoders(settings)
        self._of_works = None if of_works is self.encoder else of_works
        from workers import placing

        self._search_device = placing.chosen_device(settings, self.encoder.device)
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
        warm()  # a verdict that does not fit this code is no reference's fault: fail now
        with _memory_told("the catalog's vectors and works", least=True):
            placing.place(self.catalog.vectors, self._search_device, settings)
            self.follower.wait_for(self.follower.start(), settings.call_deadline_s)
            # The first pass through a model is slow: not on the first reference's time.
            self.encoder.encode(["warm"])

    def decode(self, record: Received) -> ReferenceEvent:
        """Raises BadRecord."""
        return ReferenceEvent.from_json(record.value or b"")

    def view(self, batch: Sequence[ReferenceEvent]) -> LinkerView:
        """At least the version that events from ``retries`` ask for."""
        with _memory_told("new works", least=True):
            self.follower.wait_for(max((event.catalog_offset for event in batch), default=0), self.settings.call_deadline_s)
        return LinkerView(self.catalog, self.encoder, self.policy, int(self._clock() * 1000), self._of_works)

    def handle(self, batch: Sequence[ReferenceEvent], view: LinkerView) -> Output:
        """Outcomes and open references, each as one event per paper. Raises DeviceFull.

        One text has at most as many tokens as the model reads, 256, some megabytes: when not even that fits, the device is
        full of other things, and the reference is no more at fault than the next one.
        """
        with _memory_told("even one reference", least=len(batch) == 1):  # else the runtime halves the batch
            return self._handle(batch, view)

    def _handle(self, batch: Sequence[ReferenceEvent], view: LinkerView) -> Output:
        references = [event.reference for event in batch]
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
        )
        output.observed.tokens = view.encoder.tokens_read - tokens_before
        watch.move(view.encoder.spent.tokens_s - tokenised_s, "model", "tokens")
        links: list[tuple[PaperEvent, Outcome]] = []
        opens: list[tuple[PaperEvent, Open]] = []
        for event, result in zip(batch, settled, strict=True):
            if isinstance(result, Link):
                links.append((event, Outcome(reference=event.reference, link=result, forbidden=event.forbidden)))
            else:
                opens.append((event, result))
        by = JudgedBy(view.encoder.name, view.policy.fingerprint())
        add_outcomes(output, links, view.catalog.offset, view.now, by)
        output.messages += fallback_messages(opens, view.catalog.offset, view.policy.profile, by)
        watch.lap("encode")
        output.observed.seconds.update(watch.seconds)
        return output

    def ready(self, record: Received, waited_s: float) -> bool:
        """Whether the works that it asks for are encoded: a batch that waited for them would keep live ones waiting.

        Of an offset that is not heard of though all else is encoded, ``view`` finds out what is the matter.
        """
        asked_for = least_offset(record.headers)
        return asked_for <= self.catalog.offset or (waited_s > _DOUBT_S and self.follower.lag == 0)

    def follow(self, seconds: float) -> bool:
        """Encodes and adds new works. Raises DeviceFull."""
        self._show_memory()
        with _memory_told("new works", least=True):
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
        """The vectors to host memory, where that is allowed, as the device has no room for more."""
        if not self.settings.search_stream or self.catalog.vectors is None:
            return False
        from workers import placing

        placing.place(self.catalog.vectors, self._search_device, self.settings)
        return True

    def close(self) -> None:
        """Stops following."""
        if hasattr(self, "follower"):
            self.follower.close()
