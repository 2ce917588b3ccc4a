"""The share of absent works as a setting: a number, or ``auto``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator


def _share(value: object) -> object:
    if value != "auto":
        try:
            valid = 0 < float(str(value)) < 1
        except ValueError:
            valid = False
        if not valid:
            raise ValueError("expected auto, or a number above 0 and below 1")
    return value


Absent = Annotated[float | Literal["auto"], BeforeValidator(_share)]
