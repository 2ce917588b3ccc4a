"""The ledger's estimate of absent works: it counts each live outcome once, and publishes the shares when they change.

Each partition of ``outcomes`` has a tally. It is a row of the partition's store, written with the outcomes that it counts, and
a record of the topic ``absence``, from which a ledger without that row continues. The ledger that owns partition 0 adds the
tallies up and is the only writer of the shares in use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from reflink.linking.absence import log_odds_of
from reflink.linking.shares import Shares, Tally
from schemas import SCHEMA_VERSION, OutcomesEvent
from schemas.absence import SHARES_KEY, SharesEvent, SourceSeen, SourceShare, TallyEvent, tally_key
from schemas.outcomes import Outcome
from workers.absence.follower import AbsenceFollower
from workers.config.settings import WorkerSettings
from workers.ledger.stores.outcome_store import PartitionStore
from workers.ledger.transaction import LedgerTransaction
from workers.records import Message
from workers.stage import Output

#: Key of the row in the table ``progress``: the references that are not published yet, and the tally.
TALLY: Final = "absence"
#: The partition whose owner writes the shares in use.
WRITER: Final = 0
#: References after which the tally is published. A ledger that loses its store loses at most these.
_EVERY: Final = 500


def count(event: OutcomesEvent, items: Sequence[Outcome], ledger: LedgerTransaction) -> None:
    """Count the accepted ``items`` of an event, if their references are live: others were counted before."""
    found = [log_odds_of(item.link, event.absent) for item in items] if event.live else []
    log_odds = [each for each in found if each is not None]
    if not log_odds:
        return
    unpublished, seen = orjson.loads(ledger.get("progress", TALLY) or b"[0,{}]")
    tally = Tally.from_dict(seen)
    tally.add(event.citing, log_odds)
    seen, unpublished = tally.to_dict(), unpublished + len(log_odds)
    if unpublished >= _EVERY:
        unpublished = 0
        rows = tuple(SourceSeen(source=name, weight=pair[0], absent=pair[1]) for name, pair in seen.items())
        record = TallyEvent(schema_version=SCHEMA_VERSION, seen=rows)
        ledger.output.messages.append(Message("absence", tally_key(ledger.partition), record.to_json()))
    ledger.put("progress", TALLY, orjson.dumps([unpublished, seen]))


class ShareWriter:
    """The topic ``absence`` for a ledger: restores tallies, and offers the shares in use when they have changed."""

    def __init__(self, settings: WorkerSettings, stores: Mapping[int, PartitionStore]) -> None:
        self.follower = AbsenceFollower(settings)
        self._stores = stores
        #: The number of records with which the shares in use were last compared.
        self._compared = 0
        self._offered: tuple[Output, Shares] | None = None

    def restore(self, partition: int, store: PartitionStore) -> None:
        """Write the partition's last published tally to a store that has none."""
        tally = self.follower.tallies.get(partition)
        if tally is not None and store.get("progress", TALLY) is None:
            store.write([("progress", TALLY, orjson.dumps([0, tally.to_dict()]))], {})

    def offer(self, output: Output) -> None:
        """Add the shares to a background task if they have changed and this ledger owns partition WRITER."""
        follower = self.follower
        if WRITER not in self._stores or self._compared == follower.version:
            return
        shares = follower.shares.after(follower.merged())
        if shares == follower.shares:
            self._compared = follower.version
            return
        sources = tuple(SourceShare(source=name, absent=share) for name, share in shares.sources.items())
        event = SharesEvent(schema_version=SCHEMA_VERSION, overall=shares.overall, sources=sources)
        output.messages.append(Message("absence", SHARES_KEY, event.to_json()))
        output.partitions |= {("outcomes", WRITER)}
        self._offered = output, shares

    def committed(self, output: Output) -> None:
        """Take the offered shares into use, if ``output`` is the last offer."""
        if self._offered is not None and self._offered[0] is output:
            self.follower.shares = self._offered[1]
