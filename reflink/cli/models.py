"""The encoder a command works with: ``--model``, else REFLINK_MODEL, else the default."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from reflink.semantic import Encoder

PRECISIONS: Final = ("auto", "fp32", "bf16", "fp16")


def add_model(parser: argparse.ArgumentParser) -> None:
    """The options that choose an encoder."""
    parser.add_argument(
        "--model",
        default=os.environ.get("REFLINK_MODEL") or None,
        help="sentence encoder, a folder or a known name (default: REFLINK_MODEL, else all-MiniLM-L6-v2)",
    )
    parser.add_argument(
        "--separator",
        default=os.environ.get("REFLINK_SEPARATOR") or None,
        help="what stands between the fields of its texts (default: REFLINK_SEPARATOR, else the model's own)",
    )
    parser.add_argument("--device", default="auto", help="where it runs: auto, cpu, cuda, cuda:1 … (default: auto)")
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="auto",
        help="its arithmetic, for works and references (default: the catalog's; for a new one fp16 on a GPU, fp32 on a CPU)",
    )


def load_encoder(args: argparse.Namespace, precision: str | None = None) -> Encoder:
    """Loads it; ``precision`` is that of the vectors it is to be compared with. Raises ModelNotFound."""
    from reflink.semantic import Encoder

    chosen = args.precision
    if chosen == "auto" and precision in PRECISIONS:
        chosen = precision
    return Encoder(args.model, device=args.device, precision=chosen, separator=args.separator)
