"""Variables that look like settings and are none: mistyped, most likely, and silently without effect."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from workers.errors import BadSettings
from workers.settings import KafkaSettings

#: Variables that begin as settings do and are none: where the settings are, and what tools and tests read.
_OTHERS: Final = ("CONFIG", "CACHE", "SHARED_DATA")
#: Settings that had another name: what they say must not be lost in silence.
_RENAMED: Final = {"ACCEPT": "MIN_PROBABILITY"}
#: What Kubernetes sets for each service, so for one whose name begins with reflink too.
_SERVICE: Final = re.compile(r".*_SERVICE_(HOST|PORT(_.+)?)|(.*_)?PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?")


def unknown_names(environment: Mapping[str, str]) -> dict[str, str | None]:
    """Variables ``REFLINK_…``, and names in the file of ``REFLINK_CONFIG``, that are no setting of any worker: mistyped ones.

    With each the setting that is most alike, if one is. Values are not looked at. Raises BadSettings for one that was renamed.
    """
    known = {name.upper() for model in _all_models(KafkaSettings) for name in model.model_fields}
    names = {name: name[8:].upper() for name in environment if name.upper().startswith("REFLINK_")}
    if (file := Path(environment.get("REFLINK_CONFIG", ""))).is_file():
        names |= {f"{name} in {file}": name.upper() for name in tomllib.loads(file.read_text())}
    unknown: dict[str, str | None] = {}
    for name, setting in names.items():
        if setting in _RENAMED:
            raise BadSettings(f"{name} is now REFLINK_{_RENAMED[setting]}: it would have no effect")
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
