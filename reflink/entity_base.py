"""The base of the entities: immutable pydantic models with fast construction and one-line errors."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final, Self, TypeVar, cast

import pydantic
from pydantic import BaseModel, ConfigDict

from reflink.errors import BadRecord

M = TypeVar("M", bound=BaseModel)

#: The set of given fields in entities of `Entity.made`: empty. Only ``exclude_unset`` uses it, which reflink does not use.
_UNKNOWN: Final[set[str]] = set()


@cache
def _template(entity: type[BaseModel]) -> dict[str, Any]:
    """Return the default of every field in the order of the schema; None for required fields."""
    return {name: None if field.is_required() else field.default for name, field in entity.model_fields.items()}


class Entity(BaseModel):
    """Base of all entities that are read or published: immutable, keeps unknown fields; an absent field has its default."""

    model_config = ConfigDict(frozen=True, extra="allow")

    @classmethod
    def made(cls, values: dict[str, Any]) -> Self:
        """Return an entity of valid fields by name: like ``cls(**values)``, but without validation and much faster."""
        entity = cls.__new__(cls)
        put = object.__setattr__
        put(entity, "__dict__", {**_template(cls), **values})
        put(entity, "__pydantic_fields_set__", _UNKNOWN)
        put(entity, "__pydantic_extra__", {})
        put(entity, "__pydantic_private__", None)
        return entity

    def to_json(self) -> bytes:
        """Return UTF-8 JSON without fields that have their default."""
        return self.__pydantic_serializer__.to_json(self, exclude_defaults=True)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-compatible builtins without fields that have their default."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Parse and validate JSON. Raises BadRecord with the first invalid field."""
        try:
            return cast("Self", cls.__pydantic_validator__.validate_json(data))
        except pydantic.ValidationError as error:
            raise bad_record(cls.__name__, error) from None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Validate builtins. Raises BadRecord with the first invalid field."""
        try:
            return cast("Self", cls.__pydantic_validator__.validate_python(data))
        except pydantic.ValidationError as error:
            raise bad_record(cls.__name__, error) from None


def read_toml(model: type[M], path: Path) -> M:
    """Read a model from a TOML file; what the file leaves out has its default. Raises OSError, and BadRecord with the fault."""
    try:
        return model.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadRecord(f"{path}: not TOML: {error}") from None
    except pydantic.ValidationError as error:
        raise BadRecord(f"{path}: {bad_record(model.__name__, error)}") from None


def bad_record(what: str, error: pydantic.ValidationError) -> BadRecord:
    """Convert pydantic's error to one line: the first invalid field and the number of others."""
    first, more = error.errors(include_url=False, include_input=False)[0], error.error_count() - 1
    field = ".".join(map(str, first["loc"])) or "value"
    return BadRecord(f"{what}: {field}: {first['msg']}" + (f" (and {more} more)" if more else ""))
