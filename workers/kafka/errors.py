"""Errors of kafka-python that no retry resolves, as the errors that end a worker or a tool."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka.errors import (
    AuthorizationError,
    ClusterAuthorizationFailedError,
    CorruptRecordError,
    GroupAuthorizationFailedError,
    InvalidProducerEpochError,
    KafkaError,
    ProducerFencedError,
    SaslAuthenticationFailedError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
    UnsupportedCodecError,
    UnsupportedVersionError,
)

from workers.config.settings import KafkaSettings
from workers.errors import BrokerRefused, BrokerUnreachable, Stalled
from workers.kafka.handshake import about_login

_PROTECTED: Final[dict[type[KafkaError], str]] = {
    TopicAuthorizationFailedError: "the topic",
    GroupAuthorizationFailedError: "the group",
    TransactionalIdAuthorizationFailedError: "the transactional id",
    ClusterAuthorizationFailedError: "the cluster",
}
#: Errors that no retry can resolve: an operator must act.
_REFUSALS: Final = (AuthorizationError, SaslAuthenticationFailedError, UnsupportedVersionError)
_FENCED: Final = (ProducerFencedError, InvalidProducerEpochError)
#: Errors of a batch that cannot be read. kafka-python's consumer never gets past such a batch.
_UNREADABLE: Final = (CorruptRecordError, UnsupportedCodecError)


@contextmanager
def broker_errors(settings: KafkaSettings, again: str | None = None) -> Iterator[None]:
    """Raise BrokerRefused if an operator must act, and Stalled if a batch cannot be read. Other errors pass unchanged.

    With ``again``, a tool's advice such as "run it again", other errors of Kafka become BrokerUnreachable.
    """
    try:
        yield
    except _REFUSALS as error:
        raise refused(error, settings) from None
    except _UNREADABLE as error:
        raise _unreadable(error) from None
    except KafkaError as error:
        if again is None:
            raise
        raise BrokerUnreachable(
            f"{settings.kafka_bootstrap_servers}: {type(error).__name__}: {error}: {again} when the broker responds"
        ) from None


def refused(error: KafkaError, settings: KafkaSettings) -> BrokerRefused:
    """Return the refusal with a one-line message: the brokers, the user, the broker's reason and the remedy."""
    user = f" as {settings.kafka_sasl_username}" if settings.kafka_sasl_username else ""
    reason = " ".join(str(error).split())
    if isinstance(error, AuthorizationError):
        named = error.args[0] if error.args else None
        names = ", ".join(sorted(named)) if isinstance(named, set | frozenset) else str(named or "")
        reason = f"no right to {_PROTECTED.get(type(error), 'do that')} {names}".rstrip()
        reason += ": `reflink-worker acls` prints and creates the rights of each worker and tool"
    elif isinstance(error, SaslAuthenticationFailedError):
        reason = about_login(settings, reason.rpartition("Error: ")[2])
    return BrokerRefused(f"{settings.kafka_bootstrap_servers}{user} ({settings.kafka_security_protocol}): {reason}")


def _unreadable(error: KafkaError) -> Stalled:
    """Return the error that ends the worker, so that a new process reads the batch; if that fails too, an operator must act."""
    return Stalled(
        f"{type(error).__name__}: {error}: the process ends, and the next one reads the batch again; if that fails too, "
        f"restore the partition from another replica, or delete its records up to the end of the batch and send them again"
    )


def fenced(error: BaseException) -> bool:
    """Return whether the error means that another process has taken the transactional id over.

    Later calls of kafka-python raise another error whose arguments contain the first error or its text.
    """
    return isinstance(error, _FENCED) or any(
        isinstance(each, _FENCED) or (isinstance(each, str) and any(kind.__name__ in each for kind in _FENCED))
        for each in error.args
    )
