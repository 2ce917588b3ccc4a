"""Several searches in one request, with the ids of the works that each finds.

A search whose result lacks a shard is an outage: its empty result would otherwise count as "not in the catalog". Only an error
that names the query is the query's fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from workers.engine.client import Engine, lines
from workers.engine.errors import EngineError, EngineTimeout, NotFound
from workers.engine.index import quoted

#: Maximum searches in one request. Larger requests take longer than the others behind them can wait.
MAX_SEARCHES: Final = 64
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


def find(engine: Engine, index: str, queries: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Yield the ids that each query finds, best first.

    Requests that take too long are halved. Raises EngineUnavailable, and EngineError for a query that the engine rejects.
    """
    for start in range(0, len(queries), MAX_SEARCHES):
        yield from _find(engine, index, queries[start : start + MAX_SEARCHES])


def _find(engine: Engine, index: str, queries: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    body = [part for query in queries for part in ({"allow_partial_search_results": False}, query)]
    target = f"/{quoted(index)}/_msearch?search_type=dfs_query_then_fetch&{_FILTER}"
    try:
        answers = engine.call("search", "POST", target, lines(body)).get("responses", ())
    except NotFound as error:  # another index serves by now
        raise engine.unavailable("search", str(error)) from None
    except EngineTimeout:
        if len(queries) == 1:
            raise
        middle = len(queries) // 2
        return [*_find(engine, index, queries[:middle]), *_find(engine, index, queries[middle:])]
    if len(answers) != len(queries):
        raise engine.unavailable("search", f"{len(answers)} answers to {len(queries)} searches")
    return [_ids(answer, engine) for answer in answers]


def _ids(answer: Mapping[str, Any], engine: Engine) -> list[str]:
    error = answer.get("error", {})
    if error.get("type") in _OF_QUERY:
        raise EngineError(f"the search engine rejects a query: {error.get('type')}: {error.get('reason')}")
    if error or answer.get("status", 200) >= 300 or answer.get("timed_out") or answer.get("_shards", {}).get("failed"):
        raise engine.unavailable("search", f"{error.get('type', 'timeout')}: {error.get('reason', 'not all shards answered')}")
    return [hit["sort"][1] for hit in answer.get("hits", {}).get("hits", ())]
