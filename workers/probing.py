"""Knocking at a broker's door as kafka-python will, because that keeps to itself why a door stays shut.

A knock is a connection, a TLS handshake, and the protocol's first requests: versions, SASL mechanism, login. It ends in one of
three ways: the broker lets us in; it is *shut*, for a reason that no waiting mends; or it is *silent*, and may be there soon.
Clients go on to the addresses that brokers advertise, so where those are others, one of them must let us in, too.
"""

from __future__ import annotations

import logging
import ssl
import time
from typing import Final

from kafka.cluster import collect_hosts

from workers.certificates import tls_context
from workers.errors import BadSettings, BrokerRefused, BrokerUnreachable
from workers.knocking import Address, Knock, Shut, Silent
from workers.settings import KafkaSettings

log = logging.getLogger(__name__)

#: Longest wait for one answer. A broker that is there takes milliseconds.
KNOCK_S: Final = 5.0
_BETWEEN_S: Final = 0.5


def await_broker(settings: KafkaSettings, timeout_s: float) -> None:
    """Returns once one of the bootstrap servers lets us in. Raises BrokerRefused at once when those that answer do not.

    Raises BrokerUnreachable when none has answered for ``timeout_s``, and BadSettings.
    """
    until = time.monotonic() + timeout_s
    told = False
    while (silence := try_brokers(settings)) is not None:
        if time.monotonic() >= until:
            raise BrokerUnreachable(
                f"no broker answers at {settings.kafka_bootstrap_servers} ({settings.kafka_security_protocol}) within "
                f"{timeout_s:g} s: {silence}; check REFLINK_KAFKA_BOOTSTRAP_SERVERS, or that the broker runs "
                "(REFLINK_KAFKA_CONNECT_TIMEOUT_S is how long to wait for it)"
            )
        if not told:
            log.info("no broker answers yet", extra={"brokers": settings.kafka_bootstrap_servers, "reason": silence})
            told = True
        time.sleep(_BETWEEN_S)


def try_brokers(settings: KafkaSettings, knock_s: float = KNOCK_S) -> str | None:
    """Knocks at each bootstrap server until one lets us in: None; if all are silent: what was heard last.

    Raises BrokerRefused when none lets us in and one is shut, and BadSettings.
    """
    context = tls_context(settings) if settings.kafka_security_protocol.endswith("SSL") else None
    try:
        places = [place[:2] for place in collect_hosts(settings.kafka_bootstrap_servers, randomize=False)]
    except ValueError:
        raise BadSettings(
            f"REFLINK_KAFKA_BOOTSTRAP_SERVERS: {settings.kafka_bootstrap_servers!r} is no list of host:port"
        ) from None
    shut: str | None = None
    silence = ""
    for host, port in places:
        try:
            advertised = Knock(settings, host, port, context, knock_s).run()
            if advertised and (host, port) not in advertised:
                _try_advertised(settings, advertised, context, knock_s)
            return None
        except Shut as error:
            shut = shut or f"{host}:{port} ({settings.kafka_security_protocol}): {error}"
        except Silent as error:
            silence = f"{host}:{port}: {error}"
    if shut is not None:
        raise BrokerRefused(" ".join(shut.split()))
    return silence


def _try_advertised(settings: KafkaSettings, places: list[Address], context: ssl.SSLContext | None, knock_s: float) -> None:
    failure: Shut | Silent | None = None
    for host, port in places:
        try:
            Knock(settings, host, port, context, knock_s).run()
            return
        except (Shut, Silent) as error:
            failure = type(error)(f"it advertises {host}:{port}, where {error}; see advertised.listeners of the broker")
    if failure is not None:
        raise failure
