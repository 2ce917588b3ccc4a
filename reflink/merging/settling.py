"""Make the works of the records of one component, and leave each identifier with one of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from reflink.entities import Ids, Related, Work
from reflink.merging.clusters import Clustering, bearers_of
from reflink.merging.fields import merge_fields, work_of
from reflink.merging.identifiers import allot, ids_of
from reflink.merging.members import Conflict, Member, Merged
from reflink.merging.rules import Rules
from reflink.workids import work_id


def settle(
    members: Sequence[Member],
    same: Sequence[tuple[int, int, float]] = (),
    rules: Rules | None = None,
    crowded: Collection[str] = (),
) -> tuple[list[Merged], list[Conflict]]:
    """Return the works of the records, in the order of their best records, and the identifiers that join unlike records.

    ``same``: pairs of positions in ``members`` with the probability that the records are one article; also pairs that are
    probably not, since these keep records apart. ``crowded``: identifiers that more records have than ``rules.max_bearers``,
    of which ``members`` has only a part. The result does not depend on the order of ``members`` and ``same``. A record that is
    alone and partial makes no work; another one that is alone makes its own work unchanged.
    """
    rules = rules or Rules()
    if len(members) == 1 and not crowded:
        (only,) = members
        return ([] if only.partial else [Merged(only.work, (only,))]), []
    order = _ordered(members, rules)
    records = [members[at] for at in order]
    crowded = {key for key, bearers in bearers_of(records).items() if len(bearers) > rules.max_bearers or key in crowded}
    place = {at: position for position, at in enumerate(order)}
    judged: dict[tuple[int, int], float] = {}
    for a, b, probability in same:
        pair = min(place[a], place[b]), max(place[a], place[b])
        if pair[0] != pair[1]:
            judged[pair] = max(probability, judged.get(pair, 0.0))
    clustering = Clustering(records, judged, rules, crowded)
    positions = clustering.clusters()
    clusters = [[records[at] for at in cluster] for cluster in positions]
    keys, related, conflicts = allot(clusters, positions, clustering, rules, crowded)
    works = [
        _merged(cluster, left, more, rules)
        for cluster, left, more in zip(clusters, keys, related, strict=True)
        if not all(member.partial for member in cluster)
    ]
    return works, conflicts


def _ordered(members: Sequence[Member], rules: Rules) -> list[int]:
    """Return the positions of the records: sources in the order of the rules, others by name; then by key, and by content."""
    ranks, last = rules.ranks, len(rules.ranks)
    names = [(ranks.get(member.source, last), member.source, member.key) for member in members]
    if len(set(names)) == len(names):
        return sorted(range(len(members)), key=names.__getitem__)
    return sorted(range(len(members)), key=lambda at: (names[at], members[at].partial, members[at].work.to_json()))


def _merged(cluster: Sequence[Member], keys: Sequence[str], related: Sequence[Related], rules: Rules) -> Merged:
    ids, aliases = ids_of(keys)
    if len(cluster) == 1:
        (only,) = cluster
        lost = not aliases and ids != only.work.ids
        work = _without(only, ids, related) if lost else only.work
        return Merged(work, (only,), {}, aliases)
    values, origins = merge_fields(cluster, rules)
    if related:
        values["related"] = tuple(dict.fromkeys((*values.get("related", ()), *related)))
    for kind in (key.partition(":")[0] for key in ids.keys()):  # noqa: SIM118
        bearers = (member.name for member in cluster if getattr(member.work.ids, kind) == getattr(ids, kind))
        origins[f"ids.{kind}"] = " ".join(dict.fromkeys(bearers))
    return Merged(work_of(values, _id(cluster, ids), ids), tuple(cluster), origins, aliases)


def _without(member: Member, ids: Ids, related: Sequence[Related]) -> Work:
    """Return the record's work without the identifiers that it lost."""
    more = tuple(dict.fromkeys((*member.work.related, *related)))
    return member.work.model_copy(update={"id": _id([member], ids), "ids": ids, "related": more})


def _id(cluster: Sequence[Member], ids: Ids) -> str:
    """Return the first identifier, else the id of the first record in its source."""
    best = next((member for member in cluster if not member.partial), cluster[0])
    return work_id(ids, f"{best.source}:{best.key}")
