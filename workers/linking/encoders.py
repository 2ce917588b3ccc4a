"""The encoders of linker or fallback, and errors for want of memory on their device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reflink.errors import DeviceMissing, NoMemory
from workers.config.indexes import Arithmetic
from workers.config.settings import SearchSettings
from workers.errors import BadSettings, DeviceFull
from workers.linking.device_failures import raise_if_failed

if TYPE_CHECKING:
    from reflink.semantic import Encoder


def load_encoder(settings: SearchSettings, precision: Arithmetic) -> Encoder:
    """Load the settings' model with ``precision``. Raises ModelNotFound, and BadSettings if the device does not exist."""
    # Importing torch takes seconds, and only the searcher of vectors and the snapshot builder need it.
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


def load_encoders(settings: SearchSettings) -> tuple[Encoder, Encoder]:
    """Return the encoders of works and of references: the same object if their precisions are equal. Raises ModelNotFound."""
    works = load_encoder(settings, settings.precision)
    # After load_encoder, which reports a missing torch.
    from reflink.semantic.encoder.query_precision import choose_query_precision

    wanted = settings.query_precision
    chosen = choose_query_precision(works.device, works.precision) if wanted == "auto" else wanted
    return works, works if chosen == works.precision else load_encoder(settings, chosen)


@contextmanager
def report_full_device(what: str, *, smallest: bool) -> Iterator[None]:
    """Convert NoMemory to DeviceFull; with ``smallest`` (the smallest possible allocation) also errors of torch.

    Raises DeviceFailed if the GPU has failed.
    """
    try:
        yield
    except (NoMemory, RuntimeError) as error:
        raise_if_failed(error)
        from reflink.semantic.encoder.token_budget import is_out_of_memory

        if not isinstance(error, NoMemory) and not (smallest and is_out_of_memory(error)):
            raise
        reason = " ".join(str(error).split())[:300]
        raise DeviceFull(f"no memory for {what}: {reason}; no data is lost: stop other programs on the device") from None
