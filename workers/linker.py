"""Linker: references to outcomes by identifiers and meaning; what stays open goes to the fallback."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reflink.catalog import Catalog
from reflink.entities import Link
from reflink.linker import semantic_step
from reflink.policy import Open, Policy
from reflink.stopwatch import Stopwatch
from reflink.verdict.judge import shipped
from schemas import Outcome, ReferenceEvent
from schemas.envelope import PaperEvent
from workers import metrics
from workers.following import CatalogFollower
from workers.outgoing import add_outcomes, fallback_messages
from workers.settings import LinkerSettings
from workers.snapshots import open_catalog
from workers.stage import Output, Received, Stage

if TYPE_CHECKING:
    from reflink.semantic import Encoder


#: A paper and its references are published in one transaction, so it is in the catalog a moment later, if it is offered at all.
_OWN_PAPER_S: Final = 1.0


@dataclass(frozen=True)
class LinkerView:
    """The catalog at one version, the encoder, and the time of judgement in milliseconds."""

    catalog: Catalog
    encoder: Encoder
    policy: Policy
    now: int

    def after(self, output: Output) -> LinkerView:
        """Itself: linking changes no catalog."""
        return self


def own_papers(batch: Sequence[ReferenceEvent]) -> set[str]:
    """The papers of references that carry their own paper's identifier: they can link to nothing else."""
    return {event.citing for event in batch if event.citing in event.reference.ids.keys()}  # noqa: SIM118


class LinkerStage(Stage[ReferenceEvent, LinkerView]):
    """Holds the encoder and the catalog's vectors, on the GPU where there is one."""

    name = "linker"
    inputs = ("references",)
    background_inputs = ("retries",)
    outputs = ("fallback", "outcomes")
    follows = ("catalog",)

    def __init__(self, settings: LinkerSettings, clock: Callable[[], float] = time.time) -> None:
        self.settings, self._clock = settings, clock
        self.policy = Policy(
            profile=settings.profile,
            threshold=settings.threshold,
            semantic_mode=settings.semantic_mode,
            sure=settings.sure,
        )

    def warm(self) -> None:
        """Loads the model, opens the catalog and reads its topic to the end. Raises ModelNotFound or SnapshotError."""
        from reflink.semantic import Encoder  # torch takes seconds to import, and only this worker needs it

        settings = self.settings
        self.encoder = Encoder(
            settings.model, device=settings.device, precision=settings.precision, token_budget=settings.token_budget
        )
        empty = Catalog.empty(
            dim=self.encoder.dim,
            model=self.encoder.name,
            precision=self.encoder.precision,
            mode=settings.semantic_mode,
            lexical_mode=None,
        )
        self.catalog = open_catalog(settings, vectors=True, trigrams=False, empty=empty)
        self.follower = CatalogFollower(settings, self.catalog, self.encoder)
        shipped()  # a verdict that does not fit this code is no reference's fault: fail now
        self.follower.wait_for(self.follower.start(), settings.call_deadline_s)
        # The first pass through a model is slow: not on the first reference's time.
        self.encoder.encode(["warm"])

    def decode(self, record: Received) -> ReferenceEvent:
        """Raises BadRecord."""
        return ReferenceEvent.from_json(record.value or b"")

    def view(self, batch: Sequence[ReferenceEvent]) -> LinkerView:
        """At least the version that events from ``retries`` ask for, and with the papers that cite themselves."""
        self.follower.wait_for(max((event.catalog_offset for event in batch), default=0), self.settings.call_deadline_s)
        self.follower.wait_for_works(own_papers(batch), _OWN_PAPER_S)
        return LinkerView(self.catalog, self.encoder, self.policy, int(self._clock() * 1000))

    def handle(self, batch: Sequence[ReferenceEvent], view: LinkerView) -> Output:
        """Outcomes and open references, each as one event per paper."""
        references = [event.reference for event in batch]
        output, watch = Output(), Stopwatch()
        tokens_before, tokenised_s = view.encoder.tokens_read, view.encoder.spent.tokens_s
        settled = semantic_step(references, view.catalog, view.encoder, view.policy, watch=watch)
        output.observed.tokens = view.encoder.tokens_read - tokens_before
        watch.move(view.encoder.spent.tokens_s - tokenised_s, "model", "tokens")
        links: list[tuple[PaperEvent, Outcome]] = []
        opens: list[tuple[PaperEvent, Open]] = []
        for event, result in zip(batch, settled, strict=True):
            if isinstance(result, Link):
                links.append((event, Outcome(reference=event.reference, link=result)))
            else:
                opens.append((event, result))
        add_outcomes(output, links, view.catalog.offset, view.now)
        output.messages += fallback_messages(opens, view.catalog.offset, view.policy.profile)
        watch.lap("encode")
        output.observed.seconds.update(watch.seconds)
        return output

    def follow(self, seconds: float) -> bool:
        """Encodes and adds new works."""
        if str(self.encoder.device).startswith("cuda"):
            import torch

            metrics.GPU_MEMORY_BYTES.set(torch.cuda.memory_allocated())
        return self.follower.apply(seconds)

    def close(self) -> None:
        """Stops following."""
        if hasattr(self, "follower"):
            self.follower.close()
