"""Who the slot's last process was in its group, so that nobody need wait for the dead.

A killed member holds every rebalance of its group until its session ends, and its open transaction holds the offsets of its
partitions. Its successor has the slot's lock, so it knows that the member is dead, and says so before it loads anything.
"""

from __future__ import annotations

import logging

from kafka import KafkaAdminClient
from kafka.admin import MemberToRemove
from kafka.errors import KafkaError

from workers.clients import connect, transactional_producer
from workers.errors import BrokerUnreachable
from workers.settings import WorkerSettings
from workers.transactions import BoundedProducer

log = logging.getLogger(__name__)


class Membership:
    """The member id of a slot, on local disk. For whoever holds the slot."""

    def __init__(self, settings: WorkerSettings, worker: str, name: str) -> None:
        self.settings, self.worker, self.group = settings, worker, settings.topic(worker)
        self.path = settings.state_dir / f"{name}.member"
        self._known = ""

    def bury(self) -> None:
        """Ends the predecessor's transaction and membership when it did not leave by itself. What fails is left to timeouts."""
        try:
            member = self.path.read_text()
            self.path.unlink()
        except (OSError, UnicodeDecodeError):
            return
        if not member:
            return
        try:
            # Taking over its transactional id aborts what it left open.
            producer = BoundedProducer(transactional_producer(self.settings, self.worker), self.settings.transaction_timeout_s)
            producer.init_transactions()
            producer.close(timeout=1)
            admin = connect(self.settings, KafkaAdminClient)
            try:
                removed = admin.remove_group_members(self.group, [MemberToRemove(member_id=member, reason="its process died")])
            finally:
                admin.close()
        except (KafkaError, BrokerUnreachable) as error:
            log.info("the dead member stays until its session ends", extra={"member": member, "reason": type(error).__name__})
            return
        log.info("took the dead member out of its group", extra={"member": member, "result": _names(removed)})

    def remember(self, member: str) -> None:
        """We are this member from now on."""
        if member == self._known:
            return
        self._known = member
        try:
            self.path.write_text(member)
        except OSError as error:  # a full disk: then the group waits for the session's end, as it would without us
            log.warning("the member id cannot be kept", extra={"path": str(self.path), "reason": error.strerror})

    def forget(self) -> None:
        """We left by ourselves."""
        self.path.unlink(missing_ok=True)


def _names(removed: dict[MemberToRemove, type[KafkaError]]) -> str:
    return ", ".join(error.__name__ for error in removed.values())
