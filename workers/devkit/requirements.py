"""What the local pipeline requires of a machine: the encoder's packages, Java and Maven."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator, Mapping
from typing import Final

from workers.devkit.errors import LocalSetupError
from workers.devkit.jars import KAFKA, default_cache, java

BOOTSTRAP: Final = "REFLINK_KAFKA_BOOTSTRAP_SERVERS"
URLS: Final = "REFLINK_ENGINE_URLS"


def missing_needs(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each missing program or package. Java and Maven are needed only if the demo starts its own broker.

    Python is not checked: pip did that.
    """
    if any(importlib.util.find_spec(name) is None for name in ("torch", "sentence_transformers")):
        yield "the encoder's packages are missing: pip install 'reflink-stream[semantic]', or use `make demo`"
    if environment.get(BOOTSTRAP):
        return
    try:
        java(KAFKA)
    except LocalSetupError as error:
        yield str(error)
    if shutil.which("mvn") is None and not any(default_cache().glob("kafka-*")):
        yield f"Maven is needed to bring Kafka's jars and `mvn` was not found: install Maven, or set {BOOTSTRAP}"
