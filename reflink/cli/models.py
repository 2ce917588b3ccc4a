"""The encoder of a command: ``--model``, else REFLINK_MODEL, else the default."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from reflink.semantic import Encoder

PRECISIONS: Final = ("auto", "fp32", "bf16", "fp16")


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose an encoder."""
    parser.add_argument(
        "--model",
        default=os.environ.get("REFLINK_MODEL") or None,
        help="sentence encoder, a folder or a known name (default: REFLINK_MODEL, else all-MiniLM-L6-v2)",
    )
    parser.add_argument(
        "--separator",
        default=os.environ.get("REFLINK_SEPARATOR") or None,
        help="separator of the fields in the encoder's texts (default: REFLINK_SEPARATOR, else the separator of the model)",
    )
    parser.add_argument("--device", default="auto", help="device of the encoder: auto, cpu, cuda, cuda:1 … (default: auto)")
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="auto",
        help="precision of the encoder (default: that of the catalog; for a new catalog fp16 on a GPU, fp32 on a CPU)",
    )


def load_encoder(args: argparse.Namespace, precision: str | None = None) -> Encoder:
    """Load the encoder. Raises ModelNotFound.

    ``precision``: the precision of the vectors that its vectors will be compared with. ``--precision`` overrides it.
    """
    from reflink.semantic import Encoder

    chosen = args.precision
    if chosen == "auto" and precision in PRECISIONS:
        chosen = precision
    return Encoder(args.model, device=args.device, precision=chosen, separator=args.separator)
