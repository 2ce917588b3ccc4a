"""Probe of one broker: connection, TLS handshake and first protocol requests, as kafka-python makes them."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka.net.sasl.scram import ScramClient

from workers.config.settings import KafkaSettings
from workers.kafka.tls import about_brokers_certificate, about_own_certificate, words_of

_MAX_RESPONSE: Final = 1_000_000

_METADATA, _SASL_HANDSHAKE, _API_VERSIONS, _SASL_AUTHENTICATE = 3, 17, 18, 36
_NO_ERROR, _UNSUPPORTED_MECHANISM = 0, 33
#: First bytes of a TLS record (alert, handshake), which a TLS port sends to a client that does not use TLS.
_TLS_RECORDS: Final = (b"\x15\x03", b"\x16\x03")
#: Host and port.
Address = tuple[str, int]


class Rejected(Exception):
    """The broker rejects the client until an operator acts; the message states the action."""


class Unreachable(Exception):
    """The broker does not respond, or not completely: it may be starting, stopping or unreachable."""


class Probe:
    """A probe of one broker. ``timeout_s``: timeout of each network operation, in seconds; ``context``: None without TLS."""

    def __init__(self, settings: KafkaSettings, host: str, port: int, context: ssl.SSLContext | None, timeout_s: float) -> None:
        self.settings, self.host, self.port, self.context, self.timeout_s = settings, host, port, context, timeout_s
        self.sasl = settings.kafka_security_protocol.startswith("SASL")

    def run(self) -> list[Address]:
        """Return the advertised brokers, or an empty list if the broker does not list any.

        Raises Rejected if the broker rejects the client, Unreachable if it does not respond.
        """
        if self.context is None:
            with self._connected() as plain:
                return self._request_metadata(plain)
        with self._connected() as plain, self._encrypted(plain, self.context) as encrypted:
            try:
                return self._request_metadata(encrypted)
            except ssl.SSLError as error:
                raise Rejected(about_own_certificate(error, self.settings)) from None
            except Unreachable:
                # With TLS 1.3 the broker rejects a client certificate after the handshake, and a reset may arrive before the
                # reason: connect again to read it.
                self._read_alert(self.context)
                raise

    # Connections

    @contextmanager
    def _connected(self) -> Iterator[socket.socket]:
        try:
            with socket.create_connection((self.host, self.port), self.timeout_s) as connection:
                yield connection
        except ssl.SSLError:
            raise
        except OSError as error:  # including an unknown host name and a timeout
            raise Unreachable(error.strerror or str(error)) from None

    @contextmanager
    def _encrypted(self, plain: socket.socket, context: ssl.SSLContext) -> Iterator[socket.socket]:
        try:
            encrypted = context.wrap_socket(plain, server_hostname=self.host.rstrip("."))
        except ssl.SSLCertVerificationError as error:
            raise Rejected(about_brokers_certificate(error, self.settings, self.host)) from None
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionError) as error:
            if self._responds_without_tls():
                raise Rejected(
                    "this port of the broker does not use TLS: set REFLINK_KAFKA_SECURITY_PROTOCOL, or use its TLS port"
                ) from None
            raise Unreachable(error.strerror or str(error)) from None
        except ssl.SSLError as error:
            reason = error.reason or ""
            if "ALERT" in reason and "VERSION" not in reason and "FAILURE" not in reason:
                raise Rejected(about_own_certificate(error, self.settings)) from None
            raise Rejected(
                f"TLS fails ({words_of(error)}): check that this is a TLS port (REFLINK_KAFKA_SECURITY_PROTOCOL) and that it "
                "supports TLS 1.2 or 1.3"
            ) from None
        with encrypted:
            yield encrypted

    def _responds_without_tls(self) -> bool:
        try:
            with self._connected() as plain:
                self._request(plain, _API_VERSIONS, 0)
        except (Rejected, Unreachable):
            return False
        return True

    def _read_alert(self, context: ssl.SSLContext) -> None:
        try:
            with self._connected() as plain, self._encrypted(plain, context) as encrypted:
                encrypted.settimeout(1.0)
                encrypted.recv(1)
        except ssl.SSLError as error:
            raise Rejected(about_own_certificate(error, self.settings)) from None
        except (OSError, Unreachable):
            return

    # The protocol

    def _request_metadata(self, connection: socket.socket) -> list[Address]:
        self._request(connection, _API_VERSIONS, 0)
        mechanism = self.settings.kafka_sasl_mechanism or "SCRAM-SHA-512"
        try:
            response = self._request(connection, _SASL_HANDSHAKE, 1, _text(mechanism))
        except Unreachable:
            if self.sasl:
                raise
            return []
        code = _short(response, 0)
        if not self.sasl:
            # Only a broker that requires SASL responds with one of these codes. Any other response, or none, means no SASL.
            if code in (_NO_ERROR, _UNSUPPORTED_MECHANISM):
                raise Rejected(
                    "the broker requires authentication (SASL): set REFLINK_KAFKA_SECURITY_PROTOCOL="
                    f"{'SASL_SSL' if self.context else 'SASL_PLAINTEXT'} with REFLINK_KAFKA_SASL_MECHANISM, "
                    "REFLINK_KAFKA_SASL_USERNAME and REFLINK_KAFKA_SASL_PASSWORD"
                )
            return self._advertised(connection)
        if code == _UNSUPPORTED_MECHANISM:
            raise Rejected(
                f"the broker supports {', '.join(_texts(response, 2))}, not {mechanism}: set REFLINK_KAFKA_SASL_MECHANISM"
            )
        if code != _NO_ERROR:
            raise Rejected(
                "this port of the broker does not use SASL: set REFLINK_KAFKA_SECURITY_PROTOCOL="
                f"{'SSL' if self.context else 'PLAINTEXT'}, or use its SASL port"
            )
        self._log_in(connection, mechanism)
        return self._advertised(connection)

    def _advertised(self, connection: socket.socket) -> list[Address]:
        try:
            response = self._request(connection, _METADATA, 1, struct.pack(">i", 0))  # for no topic
        except Unreachable:
            return []  # the broker accepted the client; it may not support this old version of the request
        return list(_brokers(response))

    def _log_in(self, connection: socket.socket, mechanism: str) -> None:
        user, secret = self.settings.kafka_sasl_username or "", self.settings.kafka_sasl_password
        password = secret.get_secret_value() if secret is not None else ""
        if mechanism == "PLAIN":
            self._authenticate(connection, "\0".join((user, user, password)).encode())
            return
        client = ScramClient(user, password, mechanism)
        first = self._authenticate(connection, client.first_message())
        try:
            client.process_server_first_message(first)
            last = self._authenticate(connection, client.final_message())
            client.process_server_final_message(last)
        except (ValueError, KeyError):
            raise Rejected(
                f"the server cannot prove that it knows the password of {user}, as the broker would: "
                "check REFLINK_KAFKA_BOOTSTRAP_SERVERS"
            ) from None

    def _authenticate(self, connection: socket.socket, token: bytes) -> bytes:
        response = self._request(connection, _SASL_AUTHENTICATE, 0, struct.pack(">i", len(token)) + token)
        size = max(0, _short(response, 2))
        reason = response[4 : 4 + size].decode("utf-8", "replace")
        if _short(response, 0) != _NO_ERROR:
            raise Rejected(about_login(self.settings, reason))
        return response[8 + size :]

    def _request(self, connection: socket.socket, api: int, version: int, body: bytes = b"") -> bytes:
        """Send a request in the old non-flexible format, which all brokers support, and return the response body."""
        header = struct.pack(">hhi", api, version, api) + _text("reflink")
        try:
            connection.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
            head = _exactly(connection, 4)
            if head.startswith(_TLS_RECORDS):
                raise Rejected(
                    "this port of the broker uses TLS: set REFLINK_KAFKA_SECURITY_PROTOCOL="
                    f"{'SASL_SSL' if self.sasl else 'SSL or SASL_SSL'}"
                )
            (size,) = struct.unpack(">i", head)
            if not 4 <= size <= _MAX_RESPONSE:
                raise Rejected("the server is not a Kafka broker: check REFLINK_KAFKA_BOOTSTRAP_SERVERS")
            return _exactly(connection, size)[4:]
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as error:
            raise Unreachable(error.strerror or "the connection was closed") from None
        except ssl.SSLError:
            raise
        except OSError as error:
            raise Unreachable(error.strerror or str(error)) from None


def about_login(settings: KafkaSettings, reason: str) -> str:
    """Return an error message: the broker rejects the user, its own ``reason``, and the settings to check."""
    return (
        f"the broker rejects the user {settings.kafka_sasl_username} ({reason or 'without a reason'}): check "
        "REFLINK_KAFKA_SASL_USERNAME, REFLINK_KAFKA_SASL_PASSWORD and REFLINK_KAFKA_SASL_MECHANISM"
    )


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise Unreachable("the connection was closed")
        data += part
    return data


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _short(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "big", signed=True)


def _brokers(data: bytes) -> Iterator[Address]:
    """Parse an array of brokers (node id, host, port, rack). Stops at the end of truncated data."""
    count, at = int.from_bytes(data[:4], "big"), 4
    for _ in range(min(count, 1000)):
        size = max(0, _short(data, at + 4))
        host, at = data[at + 6 : at + 6 + size], at + 6 + size
        if len(data) < at + 6:
            return
        yield host.decode("utf-8", "replace"), int.from_bytes(data[at : at + 4], "big") & 0xFFFF
        at += 6 + max(0, _short(data, at + 4))


def _texts(data: bytes, at: int) -> Iterator[str]:
    """Parse an array of strings. Stops at the end of truncated data."""
    count, at = int.from_bytes(data[at : at + 4], "big"), at + 4
    for _ in range(min(count, 100)):
        size = max(0, _short(data, at))
        yield data[at + 2 : at + 2 + size].decode("utf-8", "replace")
        at += 2 + size
