"""Several searches in one request, with the ids of the works that each finds.

A search whose result lacks a shard is an outage: its empty result would otherwise count as "not in the catalog". So is a search
in a copy of a shard that is older than the watermark. Only an error that names the query is the query's fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from workers.engine.client import Engine, lines
from workers.engine.errors import EngineError, EngineTimeout, NotFound
from workers.engine.index import Version, quoted

#: Maximum searches in one request. Larger requests take longer than the others behind them can wait.
MAX_SEARCHES: Final = 64
#: The score of a mark, above that of any work.
_MARK_SCORE: Final = 1e9
#: Only what is read: the engine's answers are otherwise larger than the ids in them.
_FILTER: Final = "filter_path=" + ",".join(
    f"responses.{field}" for field in ("status", "error.type", "error.reason", "timed_out", "_shards.failed", "hits.hits.sort")
)
#: Types of errors that a query causes.
_OF_QUERY: Final = frozenset(
    (
        "query_shard_exception",
        "parsing_exception",
        "x_content_parse_exception",
        "too_many_clauses",
        "illegal_argument_exception",
    )
)


def find(engine: Engine, version: Version, queries: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Yield the ids that each query finds in the index of ``version``, best first.

    Requests that take too long are halved. Raises EngineUnavailable, and EngineError for a query that the engine rejects.
    """
    for start in range(0, len(queries), MAX_SEARCHES):
        yield from _find(engine, version, queries[start : start + MAX_SEARCHES])


def _find(engine: Engine, version: Version, queries: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    body = [part for query in queries for part in ({"allow_partial_search_results": False}, with_marks(query, version))]
    target = f"/{quoted(version.index)}/_msearch?search_type=dfs_query_then_fetch&{_FILTER}"
    try:
        answers = engine.call("search", "POST", target, lines(body)).get("responses", ())
    except NotFound as error:  # another index serves by now
        raise engine.unavailable("search", str(error)) from None
    except EngineTimeout:
        if len(queries) == 1:
            raise
        middle = len(queries) // 2
        return [*_find(engine, version, queries[:middle]), *_find(engine, version, queries[middle:])]
    if len(answers) != len(queries):
        raise engine.unavailable("search", f"{len(answers)} answers to {len(queries)} searches")
    return [ids_of(answer, version, engine) for answer in answers]


def is_stale(marks: Sequence[int], version: Version) -> bool:
    """Return whether a shard gave no mark, or a copy of one lacks records before the watermark."""
    return len(marks) < version.shards or min(marks) < version.offset


def with_marks(query: Mapping[str, Any], version: Version) -> dict[str, Any]:
    """Return the query with the marks of all shards before its hits."""
    marks = {"constant_score": {"filter": {"term": {"mark": True}}, "boost": _MARK_SCORE}}
    return {**query, "size": query["size"] + version.shards, "query": {"bool": {"should": [query["query"], marks]}}}


def ids_of(answer: Mapping[str, Any], version: Version, engine: Engine) -> list[str]:
    """Return the ids of the works in the answer to a query ``with_marks``. Raises EngineUnavailable and EngineError."""
    error = answer.get("error", {})
    if error.get("type") in _OF_QUERY:
        raise EngineError(f"the search engine rejects a query: {error.get('type')}: {error.get('reason')}")
    if error or answer.get("status", 200) >= 300 or answer.get("timed_out") or answer.get("_shards", {}).get("failed"):
        raise engine.unavailable("search", f"{error.get('type', 'timeout')}: {error.get('reason', 'not all shards answered')}")
    hits = [hit["sort"] for hit in answer.get("hits", {}).get("hits", ())]
    marks = [int(name) for score, name in hits if score >= _MARK_SCORE]
    if is_stale(marks, version):
        raise engine.unavailable("search", f"a copy of a shard is older than the watermark {version.offset}: {marks}")
    return [name for score, name in hits if score < _MARK_SCORE]
