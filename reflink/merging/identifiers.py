"""Leave each identifier with one work: works that share an identifier are one work to a catalog."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from reflink.entities import Ids, Related
from reflink.grouping.kinds import is_deposit, is_notice
from reflink.merging.clusters import CROWDED, Clustering
from reflink.merging.likeness import PREPRINT
from reflink.merging.members import Conflict, Member, ids_named
from reflink.merging.rules import Rules

#: Number of works without their own record of an identifier from which on it names none of them, but what they are part of.
_PARTS: Final = 3


def identifiers_of(cluster: Sequence[Member], rules: Rules) -> list[str]:
    """Return the identifiers of a work's records: those that name a record in its source first, then in the order given."""
    keys = [(not _owns(member, key, rules), at, key) for at, member in enumerate(cluster) for key in member.work.ids.keys()]  # noqa: SIM118
    return list(dict.fromkeys(key for _, _, key in sorted(keys, key=lambda each: each[:2])))


def ids_of(keys: Sequence[str]) -> tuple[Ids, tuple[str, ...]]:
    """Return the first identifier of each kind, and the others as aliases."""
    first: dict[str, str] = {}
    others = []
    for key in keys:
        kind, _, value = key.partition(":")
        if first.setdefault(kind, value) != value:
            others.append(key)
    return Ids.made(first), tuple(sorted(others))


def allot(
    clusters: Sequence[Sequence[Member]],
    positions: Sequence[Sequence[int]],
    clustering: Clustering,
    rules: Rules,
    crowded: Collection[str],
) -> tuple[list[list[str]], list[tuple[Related, ...]], list[Conflict]]:
    """Return each work's identifiers, the relations that replace lost identifiers, and the conflicts.

    A work keeps a disputed identifier if it has the record that the identifier names in its source; else if most sources give
    it the identifier, a notice about another work last; else if its record is the first in the order of the rules. If three
    works or more dispute an identifier that names none of their records, no work keeps it.
    """
    keys = [identifiers_of(cluster, rules) for cluster in clusters]
    claims: dict[str, list[int]] = {}
    for at, (cluster, given) in enumerate(zip(clusters, keys, strict=True)):
        if not all(member.partial for member in cluster):
            for key in given:
                claims.setdefault(key, []).append(at)
    lost: dict[int, set[str]] = {}
    related: list[list[Related]] = [[] for _ in clusters]
    conflicts = []
    for key, claimants in sorted(claims.items()):
        is_crowded = key in crowded
        if len(claimants) == 1 and not is_crowded:
            continue
        keeper = _keeper(key, claimants, clusters, rules, is_crowded)
        losers = [at for at in claimants if at != keeper]
        if not losers:
            continue
        if is_crowded:
            reason = CROWDED
        else:
            reason = clustering.reason(positions[claimants[0] if keeper is None else keeper], positions[losers[-1]])
        for at in losers:
            lost.setdefault(at, set()).add(key)
            if reason == PREPRINT and keeper is not None:
                related[at].append(_version(key, clusters[at]))
        conflicts.append(
            Conflict(
                key,
                () if keeper is None else _names(clusters[keeper], key),
                tuple(name for at in losers for name in _names(clusters[at], key)),
                reason,
            )
        )
    left = [[key for key in given if key not in lost.get(at, ())] for at, given in enumerate(keys)]
    return left, [tuple(each) for each in related], conflicts


def _keeper(
    key: str, claimants: Sequence[int], clusters: Sequence[Sequence[Member]], rules: Rules, is_crowded: bool
) -> int | None:
    def rank(at: int) -> tuple[bool, int, bool, int]:
        bearers = [member for member in clusters[at] if key in member.work.ids.keys()]  # noqa: SIM118
        sources = {member.source for member in bearers}
        return (
            not any(_owns(member, key, rules) for member in bearers), -len(sources),
            any(is_notice(member.work) for member in bearers), at,
        )  # fmt: skip

    best = min(claimants, key=rank)
    owned = not rank(best)[0]
    return best if owned or (len(claimants) < _PARTS and not is_crowded) else None


def _owns(member: Member, key: str, rules: Rules) -> bool:
    """Return whether the identifier is the one that the record's source assigns."""
    return key.partition(":")[0] == rules.own.get(member.source)


def _version(key: str, cluster: Sequence[Member]) -> Related:
    preprint = any(is_deposit(member.work) for member in cluster)
    return Related(kind="preprint-of" if preprint else "has-preprint", ids=ids_named(key))


def _names(cluster: Sequence[Member], key: str) -> tuple[str, ...]:
    return tuple(member.name for member in cluster if key in member.work.ids.keys())  # noqa: SIM118
