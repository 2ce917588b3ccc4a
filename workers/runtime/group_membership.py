"""Group membership of a slot, kept on disk so that a replacement process can remove its killed predecessor from the group.

A killed member delays every rebalance of its group until its session ends, and its open transaction blocks the offsets of its
partitions. The replacement holds the slot's lock, so it knows that the predecessor has ended: before it loads anything, it
fences the predecessor's producer and removes its member from the group.
"""

from __future__ import annotations

import logging

from kafka import KafkaAdminClient
from kafka.admin import MemberToRemove
from kafka.errors import KafkaError

from workers.config.settings import WorkerSettings
from workers.errors import BrokerUnreachable
from workers.kafka.clients import connect, transactional_producer
from workers.kafka.transactional_producer import BoundedProducer

log = logging.getLogger(__name__)


class Membership:
    """The member id of a slot, in a local file. Only the process that holds the slot's lock may use it."""

    def __init__(self, settings: WorkerSettings, worker: str, name: str) -> None:
        self.settings, self.worker, self.group = settings, worker, settings.topic(worker)
        self.path = settings.state_dir / f"{name}.member"
        self._known = ""

    def remove_predecessor(self) -> None:
        """Fence the predecessor and remove its member from the group, if it did not leave by itself.

        After a failure the broker's timeouts end the transaction and the session.
        """
        try:
            member = self.path.read_text()
            self.path.unlink()
        except (OSError, UnicodeDecodeError):
            return
        if not member:
            return
        try:
            # Initialising the same transactional id aborts the predecessor's open transaction.
            producer = BoundedProducer(transactional_producer(self.settings, self.worker), self.settings.transaction_timeout_s)
            producer.init_transactions()
            producer.close(timeout=1)
            admin = connect(self.settings, KafkaAdminClient)
            try:
                removed = admin.remove_group_members(self.group, [MemberToRemove(member_id=member, reason="its process died")])
            finally:
                admin.close()
        except (KafkaError, BrokerUnreachable) as error:
            log.info(
                "the predecessor's member stays until its session ends",
                extra={"member": member, "reason": type(error).__name__},
            )
            return
        log.info("removed the predecessor's member from its group", extra={"member": member, "result": _names(removed)})

    def remember(self, member: str) -> None:
        """Write this process's current member id to disk."""
        if member == self._known:
            return
        self._known = member
        try:
            self.path.write_text(member)
        except OSError as error:  # e.g. a full disk: then the group waits for the session to end, as without this file
            log.warning("the member id cannot be kept", extra={"path": str(self.path), "reason": error.strerror})

    def forget(self) -> None:
        """Delete the member id: this process left the group by itself."""
        self.path.unlink(missing_ok=True)


def _names(removed: dict[MemberToRemove, type[KafkaError]]) -> str:
    return ", ".join(error.__name__ for error in removed.values())
