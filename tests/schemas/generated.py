"""Hypothesis strategies for entities and events, derived from the fields of the models."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from reflink.entities import Entity
from schemas import CatalogEvent, OverrideEvent
from schemas.envelope import SCHEMA_VERSION

#: JSON of any producer.
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
new_fields = st.dictionaries(st.text(min_size=1).map("new_".__add__), json_values, max_size=2)

#: Events with exactly one of several fields.
_ONE_OF = {CatalogEvent: ("work", "withdrawn"), OverrideEvent: ("pinned", "nothing", "forbidden")}


def instances(model: type[Entity]) -> st.SearchStrategy[Any]:
    """Return a strategy of valid instances with or without optional fields."""
    hints = get_type_hints(model, include_extras=True)
    fields = {
        name: st.just(SCHEMA_VERSION) if name == "schema_version" else values(hints[name], info.metadata)
        for name, info in model.model_fields.items()
    }
    required = {name: fields[name] for name, info in model.model_fields.items() if info.is_required()}
    optional = {name: strategy for name, strategy in fields.items() if name not in required}
    if model in _ONE_OF:
        rest = {name: strategy for name, strategy in optional.items() if name not in _ONE_OF[model]}
        choices = []
        for name in _ONE_OF[model]:
            given = fields[name].filter(lambda value, default=model.model_fields[name].default: value != default)
            choices.append(st.fixed_dictionaries({**required, name: given}, optional=rest))
        return st.one_of(choices).map(lambda chosen: model(**chosen))
    return st.fixed_dictionaries(required, optional=optional).map(lambda chosen: model(**chosen))


def values(annotation: Any, constraints: list[Any] | tuple[Any, ...] = ()) -> st.SearchStrategy[Any]:
    """Return a strategy of the values of a type that JSON can represent."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    pattern = next((limit.pattern for limit in constraints if getattr(limit, "pattern", None)), None)
    if origin is Annotated:
        return values(arguments[0], [*constraints, *(each for field in arguments[1:] for each in field.metadata)])
    if pattern is not None:
        return st.from_regex(pattern, fullmatch=True)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(values, arguments))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is dict:
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=3)
    if origin is tuple and Ellipsis not in arguments:
        return st.tuples(*map(values, arguments))
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if isinstance(annotation, type) and issubclass(annotation, Entity):
        return instances(annotation)
    bounds = {
        name: bound
        for limit in constraints
        for name in ("ge", "gt", "le", "lt")
        if (bound := getattr(limit, name, None)) is not None
    }
    least = next((limit.ge for limit in constraints if hasattr(limit, "ge")), -(2**63))
    shortest = next((limit.min_length for limit in constraints if hasattr(limit, "min_length")), 0)
    simple: dict[Any, st.SearchStrategy[Any]] = {
        str: st.text(min_size=shortest, max_size=12),
        int: st.integers(least, 2**63 - 1),
        float: st.floats(
            bounds.get("ge", bounds.get("gt")),
            bounds.get("le", bounds.get("lt")),
            exclude_min="gt" in bounds,
            exclude_max="lt" in bounds,
            allow_nan=False,
            allow_infinity=False,
        ),
        bool: st.booleans(),
        type(None): st.none(),
    }
    return simple[annotation]


#: Fields that are maps: their keys are values, not fields.
_MAPS = {"evidence"}


def dicts_in(document: Any) -> list[dict[str, Any]]:
    """Return all objects of a JSON document, including itself."""
    if isinstance(document, dict):
        inner = (value for name, value in document.items() if name not in _MAPS)
        return [document, *(found for value in inner for found in dicts_in(value))]
    if isinstance(document, list):
        return [found for value in document for found in dicts_in(value)]
    return []
