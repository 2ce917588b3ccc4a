"""The registry of formats."""

from __future__ import annotations

from reflink.formats.registry import NAMES, WRITABLE, format_named, formats


def test_every_format_is_in_the_registry_once():
    assert len(set(NAMES)) == len(NAMES)
    assert [format_named(name).name for name in NAMES] == list(NAMES)


def test_the_formats_that_can_be_written_are_known():
    assert sorted(WRITABLE) == sorted(each.name for each in formats() if each.writes)
