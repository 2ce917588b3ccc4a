"""Detection of unknown settings: variables that look like settings, are probably mistyped, and would have no effect."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from workers.config.indexer import IndexerSettings
from workers.config.settings import KafkaSettings
from workers.errors import BadSettings

#: Variables with the prefix of settings that are not settings: the path of the settings file, and variables of tools and tests.
_OTHERS: Final = ("CONFIG", "CACHE", "SHARED_DATA")
#: Renamed settings, old name to new: their values must not be ignored silently.
_RENAMED: Final = {"ACCEPT": "MIN_PROBABILITY"}
#: Variables that Kubernetes sets for each service, including services whose names begin with reflink.
_SERVICE: Final = re.compile(r".*_SERVICE_(HOST|PORT(_.+)?)|(.*_)?PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?")


def unknown_names(environment: Mapping[str, str]) -> dict[str, str | None]:
    """Return variables ``REFLINK_…``, and names in the file of ``REFLINK_CONFIG``, that are not a setting of any worker.

    Each is mapped to the most similar setting, or to None. Values are not read. Raises BadSettings for a renamed setting.
    """
    models: set[type[KafkaSettings]] = {*_all_models(KafkaSettings), IndexerSettings}
    known = {name.upper() for model in models for name in model.model_fields}
    names = {name: name[8:].upper() for name in environment if name.upper().startswith("REFLINK_")}
    if (file := Path(environment.get("REFLINK_CONFIG", ""))).is_file():
        names |= {f"{name} in {file}": name.upper() for name in tomllib.loads(file.read_text())}
    unknown: dict[str, str | None] = {}
    for name, setting in names.items():
        if setting in _RENAMED:
            raise BadSettings(f"{name} was renamed to REFLINK_{_RENAMED[setting]} and would have no effect")
    for name, setting in sorted(names.items()):
        if setting in known or setting in _OTHERS or (name in environment and _SERVICE.fullmatch(setting)):
            continue
        alike = difflib.get_close_matches(setting, known, n=1, cutoff=0.75)
        unknown[name] = f"REFLINK_{alike[0]}" if alike else None
    return unknown


def _all_models(model: type[KafkaSettings]) -> Iterator[type[KafkaSettings]]:
    yield model
    for each in model.__subclasses__():
        yield from _all_models(each)
