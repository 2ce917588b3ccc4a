"""Runs a publication's rule over the queries and worlds of the protocol, as `reflink.evaluation.run` runs reflink."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, Final

from reflink.entities import Link, Reference, Work
from reflink.evaluation.adjudication import Judgements
from reflink.evaluation.bootstrap import RESAMPLES
from reflink.evaluation.contents import contents_of
from reflink.evaluation.linking import tracked
from reflink.evaluation.nearest import BATCH, seconds
from reflink.evaluation.noise import suspects
from reflink.evaluation.outcomes import Outcome, outcome_of
from reflink.evaluation.records import read_citing, read_queries, read_works, without_identifiers
from reflink.evaluation.rivals.rule import Rule
from reflink.evaluation.rivals.s2orc import SimilarTitles
from reflink.evaluation.rivals.titlematch import EqualTitles
from reflink.evaluation.rivals.unarxive import TitleAndAuthor
from reflink.evaluation.run import Evaluation
from reflink.evaluation.worlds import Groups, World, hidden, settings_of
from reflink.lexical.titles import S2ORC

#: Makes a rule of a catalog's works, the papers that cite each work, and the threshold of a rule that has one.
Maker = Callable[[Sequence[Work], Mapping[str, Collection[str]], float], Rule]

RIVALS: Final[dict[str, Maker]] = {
    "titlematch": lambda works, citing, threshold: EqualTitles(works),
    "s2orc": lambda works, citing, threshold: SimilarTitles(works, threshold),
    "unarxive": lambda works, citing, threshold: TitleAndAuthor(works, citing),
}


def evaluate_rule(
    name: str,
    works: Path,
    references: Path,
    *,
    worlds: Collection[World],
    present: int | None = None,
    identifiers: bool = False,
    shares: bool = False,
    fields_hidden: bool = False,
    threshold: float | None = None,
    adjudicated: Path | None = None,
) -> Evaluation:
    """Link every query in each world by the rule ``name`` of RIVALS; encodes nothing.

    ``threshold``: of the rule ``s2orc``, the publication's by default. The other arguments are those of
    `reflink.evaluation.run.evaluate`. Raises BadRecord.
    """
    began = monotonic()
    listings, queries = list(read_works(works)), list(read_queries(references))
    groups = Groups.read(listings)
    suspected = suspects(queries, listings, groups)
    contents = [contents_of(query.reference) for query in queries]
    given = [query.reference if identifiers else without_identifiers(query.reference) for query in queries]
    citing = read_citing(references)
    outcomes: dict[str, list[Outcome]] = {}
    times: dict[str, dict[str, Any]] = {}
    for setting in settings_of(worlds, present, shares=shares):
        lacks = groups.lacking(setting)
        kept = [listing.work for listing in listings if listing.work.id not in lacks]
        rule = RIVALS[name](kept, citing, S2ORC if threshold is None else threshold)
        measured = {setting.name: given}
        if fields_hidden and setting.name in worlds:
            measured[f"raw_only.{setting.name}"] = [hidden(reference) for reference in given]
        for title, cited in measured.items():
            links = _linked(rule, cited, f"{name}, {title}")
            outcomes[title] = [
                outcome_of(
                    query, link, groups.same(query.truth), contents=has, suspect=suspected.get(query.reference.id),
                    present=not groups.is_absent(query.truth, setting.world, setting.present),
                )
                for query, link, has in zip(queries, links, contents, strict=True)
            ]  # fmt: skip
            times[title] = seconds(rule.link, cited, tracked, f"{name}, {title}")
        del rule  # keep one index in memory at a time
    about = {
        "policy": name, "works": len(listings), "queries": len(queries), "identifiers": identifiers, "present": present,
        "papers": len({query.reference.citing for query in queries}), "resamples": RESAMPLES, "catalog": works.name,
        "references": references.name, "seconds": round(monotonic() - began, 1),
        **({"threshold": S2ORC if threshold is None else threshold} if name == "s2orc" else {}),
    }  # fmt: skip
    return Evaluation(outcomes, about, times=times).with_verdicts(Judgements.known(adjudicated))


def _linked(rule: Rule, references: Sequence[Reference], what: str) -> list[Link]:
    batches = [references[start : start + BATCH] for start in range(0, len(references), BATCH)]
    return [link for batch in tracked(batches, what) for link in rule.link(batch)]
