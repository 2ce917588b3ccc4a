"""Connection preflight: probe the brokers as kafka-python will connect, because kafka-python hides why connecting fails.

A probe makes a connection, a TLS handshake and the protocol's first requests: versions, SASL mechanism, login. It has one of
three results: the broker accepts the client; it rejects the client (``Rejected``), for a reason that waiting does not remove;
or it does not respond (``Unreachable``) and may do so soon. Clients continue with the addresses that brokers advertise, so if
these differ from the bootstrap address, one of them must accept the client too.
"""

from __future__ import annotations

import logging
import ssl
import time
from typing import Final

from kafka.cluster import collect_hosts

from workers.config.settings import KafkaSettings
from workers.errors import BadSettings, BrokerRefused, BrokerUnreachable
from workers.kafka.handshake import Address, Probe, Rejected, Unreachable
from workers.kafka.tls import tls_context

log = logging.getLogger(__name__)

#: Maximum seconds to wait for one response. A running broker takes milliseconds.
PROBE_S: Final = 5.0
_BETWEEN_S: Final = 0.5


def await_broker(settings: KafkaSettings, timeout_s: float) -> None:
    """Wait until one of the bootstrap servers accepts the client.

    Raises BrokerRefused at once if a server rejects the client and none accepts it, BrokerUnreachable if none has responded
    for ``timeout_s`` seconds, and BadSettings.
    """
    until = time.monotonic() + timeout_s
    logged = False
    while (failure := try_brokers(settings)) is not None:
        if time.monotonic() >= until:
            raise BrokerUnreachable(
                f"no broker responds at {settings.kafka_bootstrap_servers} ({settings.kafka_security_protocol}) within "
                f"{timeout_s:g} s: {failure}; check REFLINK_KAFKA_BOOTSTRAP_SERVERS, and that the broker runs "
                "(REFLINK_KAFKA_CONNECT_TIMEOUT_S limits the wait)"
            )
        if not logged:
            log.info("no broker responds yet", extra={"brokers": settings.kafka_bootstrap_servers, "reason": failure})
            logged = True
        time.sleep(_BETWEEN_S)


def try_brokers(settings: KafkaSettings, timeout_s: float = PROBE_S) -> str | None:
    """Probe each bootstrap server until one accepts the client; then return None. If none responds, return the last error.

    Raises BrokerRefused if none accepts the client and one rejects it, and BadSettings.
    """
    context = tls_context(settings) if settings.kafka_security_protocol.endswith("SSL") else None
    try:
        places = [place[:2] for place in collect_hosts(settings.kafka_bootstrap_servers, randomize=False)]
    except ValueError:
        raise BadSettings(
            f"REFLINK_KAFKA_BOOTSTRAP_SERVERS: {settings.kafka_bootstrap_servers!r} is not a list of host:port"
        ) from None
    rejection: str | None = None
    failure = ""
    for host, port in places:
        try:
            advertised = Probe(settings, host, port, context, timeout_s).run()
            if advertised and (host, port) not in advertised:
                _try_advertised(settings, advertised, context, timeout_s)
            return None
        except Rejected as error:
            rejection = rejection or f"{host}:{port} ({settings.kafka_security_protocol}): {error}"
        except Unreachable as error:
            failure = f"{host}:{port}: {error}"
    if rejection is not None:
        raise BrokerRefused(" ".join(rejection.split()))
    return failure


def _try_advertised(settings: KafkaSettings, places: list[Address], context: ssl.SSLContext | None, timeout_s: float) -> None:
    failure: Rejected | Unreachable | None = None
    for host, port in places:
        try:
            Probe(settings, host, port, context, timeout_s).run()
            return
        except (Rejected, Unreachable) as error:
            failure = type(error)(f"it advertises {host}:{port}, but there {error}; check advertised.listeners of the broker")
    if failure is not None:
        raise failure
