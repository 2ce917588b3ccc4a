"""Changes of a schema that break a reader of old events or an old reader of new events.

An absent field has its default and unknown fields are kept, so a new optional field breaks no reader. All other changes of
validation or defaults break old or new readers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

_WORDS = {"title", "description", "$defs", "$schema", "x-schema-version", "$ref"}
_STRUCTURE = {"properties", "required", "items", "anyOf"}


def breaking_changes(released: Schema, present: Schema) -> list[str]:
    """Return a line for each change that breaks a reader."""
    return list(_compare(released, present, (released, present), "event"))


def _resolved(schema: Schema, root: Schema) -> Schema:
    while "$ref" in schema:
        target = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def _compare(old: Schema, new: Schema, roots: tuple[Schema, Schema], path: str) -> Iterator[str]:
    old, new = _resolved(old, roots[0]), _resolved(new, roots[1])
    for keyword in sorted((set(old) | set(new)) - _WORDS - _STRUCTURE):
        before, after = old.get(keyword), new.get(keyword)
        if keyword == "enum" and before and after:
            before, after = sorted(before), sorted(after)
        if keyword == "default" and isinstance(before, dict) and isinstance(after, dict):
            after = _without_new_fields(before, after, new)
        if before != after:
            yield f"{path}: {keyword} was {before!r} and is {after!r}"
    yield from _compare_fields(old, new, roots, path)
    if "items" in old and "items" in new:
        yield from _compare(old["items"], new["items"], roots, f"{path}[]")
    elif ("items" in old) != ("items" in new):
        yield f"{path}: items were {old.get('items')!r} and are {new.get('items')!r}"
    choices = old.get("anyOf", []), new.get("anyOf", [])
    if len(choices[0]) != len(choices[1]):
        yield f"{path}: was one of {choices[0]!r} and is one of {choices[1]!r}"
        return
    for before, after in zip(*choices, strict=True):
        yield from _compare(before, after, roots, path)


def _without_new_fields(before: Schema, after: Schema, schema: Schema) -> Schema:
    """Return a default of several fields without the new fields that have their own default."""
    fields = schema.get("properties", {})
    return {name: value for name, value in after.items() if name in before or value != fields.get(name, {}).get("default")}


def _compare_fields(old: Schema, new: Schema, roots: tuple[Schema, Schema], path: str) -> Iterator[str]:
    before, after = old.get("properties", {}), new.get("properties", {})
    for name in sorted(before):
        if name in after:
            yield from _compare(before[name], after[name], roots, f"{path}.{name}")
        else:
            yield f"{path}.{name}: disappeared"
    needed = set(old.get("required", ())), set(new.get("required", ()))
    for name in sorted(needed[1] - needed[0]):
        yield f"{path}.{name}: is required now; old events do not have it"
    for name in sorted((needed[0] - needed[1]) & set(after)):
        yield f"{path}.{name}: is required no longer; old readers demand it"
