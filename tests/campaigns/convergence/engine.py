"""A search engine in memory, to which the real client code talks: its requests, their faults, and what a search sees.

It keeps the promises on which workers/engine rests, and no more: external versions, writes that a search sees after a refresh
only, requests that fail with or without effect, and indexes that appear by a write to a name that does not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, Literal
from urllib.parse import parse_qs, unquote, urlsplit

import orjson

from workers.config.engine import EngineSettings
from workers.engine.client import Engine
from workers.engine.errors import Conflict, EngineError, NotFound

#: What becomes of a request: it is answered; it fails without an effect, or after its effect; its client is killed then.
Fate = Literal["answered", "fails", "fails late", "kills", "kills late"]
_SETTINGS: Final = EngineSettings(engine="opensearch", engine_urls="http://nowhere:1")


class Killed(BaseException):
    """The process that sent the request is killed."""


@dataclass
class Stored:
    """An index: its mapping, its documents with their versions, and the documents that a search sees."""

    mapping: dict[str, Any] = field(default_factory=dict)
    documents: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    visible: dict[str, dict[str, Any]] = field(default_factory=dict)

    def refresh(self) -> None:
        """Let searches see all documents."""
        self.visible = {key: source for key, (_, source) in self.documents.items()}

    def write(self, key: str, version: int, source: dict[str, Any]) -> bool:
        """Write a document with an external version; return False if the index has a newer one."""
        if key in self.documents and self.documents[key][0] > version:
            return False
        self.documents[key] = version, source
        return True


class MemoryEngine(Engine):
    """Indexes and aliases in memory, with the interface of the client. For use by one thread."""

    def __init__(self) -> None:
        self.settings = _SETTINGS
        self.indexes: dict[str, Stored] = {}
        #: Names of the indexes behind each alias.
        self.aliases: dict[str, set[str]] = {}
        #: Whether no node answers.
        self.away = False
        #: Fates of the next requests; without one, a request is answered.
        self.fates: list[Fate] = []
        #: Called before the next search: what happens between reading the version and searching.
        self.meanwhile: Callable[[], object] | None = None

    def call(self, request: str, method: str, target: str, body: object = None, *, timeout_s: float | None = None) -> Any:
        """Answer a request like the nodes. Raises the errors of ``Engine.call``, and Killed."""
        fate = self.fates.pop(0) if self.fates else "answered"
        if self.away or fate == "fails":
            raise self.unavailable(request, "no node answers")
        if fate == "kills":
            raise Killed
        found = self._answer(method, target, body)
        if fate == "fails late":
            raise self.unavailable(request, "the answer did not arrive")
        if fate == "kills late":
            raise Killed
        return found

    def close(self) -> None:
        """Do nothing: there are no connections, and several clients share the engine."""

    # What happens to the engine

    def serving(self, alias: str) -> str | None:
        """Return the name of the index behind the alias."""
        return next(iter(self.aliases.get(alias, ())), None)

    def delete(self, name: str) -> None:
        """Delete an index, with its aliases."""
        del self.indexes[name]
        for behind in self.aliases.values():
            behind.discard(name)

    def refresh(self) -> None:
        """Refresh all indexes, as engines may at any time."""
        for index in self.indexes.values():
            index.refresh()

    # Requests

    def _answer(self, method: str, target: str, body: Any) -> Any:
        parts = urlsplit(target)
        options = {name: values[0] for name, values in parse_qs(parts.query).items()}
        match method, *(unquote(part) for part in parts.path.strip("/").split("/")):
            case "GET", "":
                return {"version": {"distribution": "opensearch"}}
            case "PUT", name:
                return self._create(name, body)
            case "DELETE", name:
                self._resolved(name)
                return self.delete(name)
            case "GET", "_alias", alias:
                return {name: {} for name in self._existing(alias)}
            case "POST", "_aliases":
                return self._rename(body["actions"])
            case "GET", pattern, "_mapping":
                return {
                    name: {"mappings": index.mapping} for name, index in self.indexes.items() if fnmatchcase(name, pattern)
                } or self._existing(pattern)
            case "PUT", name, "_mapping":
                self.indexes[self._resolved(name)].mapping.update(body)
                return {}
            case "GET", name, "_settings":
                return {self._resolved(name): {"settings": {"index": {"number_of_shards": "1"}}}}
            case "GET", name, "_search_shards":
                return {"shards": [[{"shard": 0, "index": self._resolved(name)}]]}
            case "GET", name, "_doc", key:
                return self._get(name, key)
            case "PUT", name, "_doc", key:
                if not self._written(name, options).write(key, int(options["version"]), body):
                    raise Conflict(f"{key} has a newer version")
                return {}
            case "POST", name, "_bulk":
                return self._bulk(name, options, body)
            case "POST", name, "_refresh":
                self.indexes[self._resolved(name)].refresh()
                return {"_shards": {"failed": 0, "successful": 1, "total": 1}}
            case "POST", name, "_msearch":
                return self._msearch(name, body)
            case other:
                raise EngineError(f"the engine in memory does not know {other}")

    def _existing(self, alias: str) -> list[str]:
        if "*" in alias:
            return []
        if not (found := sorted(self.aliases.get(alias, ()))):
            raise NotFound(alias)
        return found

    def _resolved(self, name: str) -> str:
        """Return the one index of this name or alias. Raises NotFound, and EngineError for an alias of several."""
        if name in self.indexes:
            return name
        first, *others = self._existing(name)
        if others:
            raise EngineError(f"alias {name} has more than one index associated with it")
        return first

    def _create(self, name: str, body: dict[str, Any]) -> None:
        if name in self.indexes:
            raise EngineError(f"{name} exists")
        self.indexes[name] = Stored(body["mappings"])
        for alias in body.get("aliases", ()):
            self.aliases.setdefault(alias, set()).add(name)

    def _rename(self, actions: list[dict[str, Any]]) -> None:
        for action in actions:
            ((kind, entry),) = action.items()
            behind = self.aliases.setdefault(entry["alias"], set())
            if kind == "add":
                behind.add(self._resolved(entry["index"]))
            else:
                behind -= {name for name in behind if fnmatchcase(name, entry["index"])}

    def _written(self, name: str, options: dict[str, str]) -> Stored:
        """Return the index to write to. Without ``require_alias``, a name that does not exist becomes an index."""
        if options.get("require_alias") == "true" and name in self.indexes:
            raise NotFound(f"{name} is not an alias")
        try:
            return self.indexes[self._resolved(name)]
        except NotFound:
            if options.get("require_alias") == "true":
                raise
            return self.indexes.setdefault(name, Stored())

    def _get(self, name: str, key: str) -> dict[str, Any]:
        index = self._resolved(name)
        if key not in self.indexes[index].documents:
            raise NotFound(key)
        return {"_index": index, "_source": self.indexes[index].documents[key][1]}

    def _bulk(self, name: str, options: dict[str, str], body: bytes) -> dict[str, Any]:
        lines = [orjson.loads(line) for line in body.splitlines()]
        items: list[dict[str, Any]] = []
        for head, source in zip(lines[::2], lines[1::2], strict=True):
            try:
                written = self._written(name, options).write(head["index"]["_id"], head["index"]["version"], source)
                items.append({"index": {"status": 201 if written else 409, "error": {}}})
            except NotFound as error:
                items.append({"index": {"status": 404, "error": {"type": "index_not_found_exception", "reason": str(error)}}})
        return {"errors": any(item["index"]["status"] >= 300 for item in items), "items": items}

    def _msearch(self, name: str, body: bytes) -> dict[str, Any]:
        if self.meanwhile is not None:
            happens, self.meanwhile = self.meanwhile, None
            happens()
        queries = [orjson.loads(line) for line in body.splitlines()][1::2]
        if name not in self.indexes:
            return {
                "responses": [
                    {"status": 404, "error": {"type": "index_not_found_exception", "reason": f"no such index {name}"}}
                    for _ in queries
                ]
            }
        return {"responses": [{"hits": {"hits": _hits(query, self.indexes[name])}} for query in queries]}


def _hits(query: dict[str, Any], index: Stored) -> list[dict[str, Any]]:
    """Return the documents with the most words of the query, equal ones by id."""
    words, marks = query["query"]["bool"]["should"]
    match, score = words["match"]["words"], marks["constant_score"]["boost"]
    wanted = set(match["query"].split())
    share = int(match.get("minimum_should_match", "0%").removesuffix("%"))
    least = max(1, len(wanted) * share // 100)
    found = []
    for source in index.visible.values():
        if "mark" in source:
            found.append((-score, source["id"]))
            continue
        common = len(wanted.intersection(source.get("words", "").split()))
        if common >= least:
            found.append((-common, source["id"]))
    return [{"sort": [-score, id_]} for score, id_ in sorted(found)[: query["size"]]]
