"""The scenes of the demo's second act, read from a folder: the records to send, and the expected changes of the links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
import pydantic
from pydantic import ConfigDict, Field

from reflink.cli.inputs import read_contents
from reflink.entities import Work
from reflink.entity_base import bad_record
from reflink.errors import BadRecord, ReflinkError
from schemas import SCHEMA_VERSION, CatalogEvent, OverrideEvent
from workers.demo.outcomes import Settled
from workers.kafka.topics import partition_of
from workers.papers.publishing import record_of
from workers.records import Headers
from workers.tools.overrides import TOPIC, made

#: Name of the file with the scenes, in the same folder as the papers that they name.
SCENES: Final = "scenes.json"
_BY: Final = "the demo"


class Override(pydantic.BaseModel):
    """A curator's decision in a scene; see schemas.OverrideEvent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reference: str
    reason: str
    pinned: str | None = None
    nothing: bool = False
    forbidden: tuple[str, ...] = ()

    def event(self) -> OverrideEvent:
        """Return the event, dated now. Raises BadOverride."""
        return made(**self.model_dump(), by=_BY)


class Scene(pydantic.BaseModel):
    """The input and the expected result of one scene.

    Input: ``papers`` (file names), ``works``, ids of ``withdrawn`` works, ``overrides``, and references whose override is
    ``lifted``.
    Result: ``links`` as in a file of expectations, work id or null by reference; references that are ``gone``; ``status`` of
    links by reference. Nothing else may change. ``records``: the number of records of ``links``, where it is certain.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Annotated[str, Field(min_length=1)]
    came: Annotated[str, Field(min_length=1)]
    papers: tuple[str, ...] = ()
    works: tuple[Work, ...] = ()
    withdrawn: tuple[str, ...] = ()
    overrides: tuple[Override, ...] = ()
    lifted: tuple[str, ...] = ()
    links: dict[str, str | None] = {}
    gone: tuple[str, ...] = ()
    status: dict[str, str] = {}
    records: int | None = None

    @property
    def concerns(self) -> set[str]:
        """The references that may change."""
        return {*self.links, *self.gone}

    def not_yet(self, known: dict[str, Settled]) -> Iterator[str]:
        """Yield a line for each reference that is not in its expected state yet."""
        curated = {each.reference for each in self.overrides}
        for reference, wanted in self.links.items():
            settled = known.get(reference)
            if settled is None:
                yield f"{reference} has no outcome, expected {wanted or 'unresolved'}"
            elif settled.link.cited != wanted or settled.link.unresolved == "withdrawn":
                yield f"{reference} is {describe(settled)}, expected {wanted or 'unresolved'}"
            elif settled.link.status != self.status.get(reference, settled.link.status):
                yield f"{reference} has status {settled.link.status}, expected {self.status[reference]}"
            elif (settled.curated is not None) != (reference in curated) and reference in {*curated, *self.lifted}:
                yield f"{reference} is {describe(settled)}, " + (
                    "expected an override" if reference in curated else "expected no override"
                )
        for reference in self.gone:
            if reference in known:
                yield f"{reference} is {describe(known[reference])}, expected to be gone"


@dataclass(frozen=True)
class Record:
    """A record to send; with ``partition`` None, its key determines the partition."""

    topic: str
    key: bytes
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None


def read_scenes(folder: Path) -> list[Scene]:
    """Read the scenes of a folder. Raises BadRecord, also for a paper that does not exist."""
    path = folder / SCENES
    try:
        scenes = [_scene(path, number, each) for number, each in enumerate(orjson.loads(path.read_bytes()), start=1)]
    except OSError as error:
        raise BadRecord(f"{path}: cannot be read: {error.strerror}") from None
    except (orjson.JSONDecodeError, TypeError) as error:
        raise BadRecord(f"{path}: must be a list of scenes: {error}") from None
    for scene in scenes:
        for name in scene.papers:
            if not (folder / name).is_file():
                raise BadRecord(f"{path}: scene {scene.title!r}: the folder has no paper {name}")
    return scenes


def records(scene: Scene, folder: Path, partitions: int) -> list[Record]:
    """Return the records that the scene sends, in order. Raises NotAPaper, TooLarge or BadOverride."""
    found = [
        Record("catalog", work.id.encode(), CatalogEvent(schema_version=SCHEMA_VERSION, work=work).to_json())
        for work in scene.works
    ]
    for work_id in scene.withdrawn:
        event = CatalogEvent(schema_version=SCHEMA_VERSION, withdrawn="its source withdrew it")
        found += [Record("catalog", work_id.encode(), event.to_json()), Record("catalog", work_id.encode(), None)]
    for name in scene.papers:
        for path, data in read_contents([str(folder / name)]):
            if isinstance(data, ReflinkError):
                raise data
            paper = record_of(path, data)
            found.append(Record("papers", paper.key, paper.value, paper.headers))
    overrides: list[tuple[str, bytes | None]] = [(each.reference, each.event().to_json()) for each in scene.overrides]
    for reference, value in [*overrides, *((each, None) for each in scene.lifted)]:
        partition = partition_of(reference.partition("#")[0].encode(), partitions)
        found.append(Record(TOPIC, reference.encode(), value, partition=partition))
    return found


def describe(settled: Settled | None) -> str:
    """Describe an outcome in a few words."""
    if settled is None:
        return "gone"
    link = settled.link
    words = [link.cited or link.unresolved or "unresolved", *([link.status] if link.status else [])]
    return ", ".join([*words, *([f"{settled.curated.action} by {settled.curated.by}"] if settled.curated else [])])


def _scene(path: Path, number: int, fields: Any) -> Scene:
    try:
        return Scene.model_validate(fields)
    except pydantic.ValidationError as error:
        raise BadRecord(f"{path}: scene {number}: {bad_record('Scene', error)}") from None
