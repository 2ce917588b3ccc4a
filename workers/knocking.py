"""One knock at a broker's door: connection, TLS handshake, and the protocol's first requests, as kafka-python makes them."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka.net.sasl.scram import ScramClient

from workers.certificates import about_brokers_certificate, about_own_certificate, words_of
from workers.settings import KafkaSettings

_LARGEST_ANSWER: Final = 1_000_000

_METADATA, _SASL_HANDSHAKE, _API_VERSIONS, _SASL_AUTHENTICATE = 3, 17, 18, 36
_NO_ERROR, _UNSUPPORTED_MECHANISM = 0, 33
#: How a TLS record begins (alert, handshake): what a TLS port says to who does not speak TLS.
_TLS_RECORDS: Final = (b"\x15\x03", b"\x16\x03")


#: Host and port.
Address = tuple[str, int]


class Shut(Exception):
    """The door stays shut until the operator does something; the message says what."""


class Silent(Exception):
    """Nobody answers, or not to the end: the broker may be starting, stopping or out of reach."""


class Knock:
    """One broker, asked once."""

    def __init__(self, settings: KafkaSettings, host: str, port: int, context: ssl.SSLContext | None, knock_s: float) -> None:
        self.settings, self.host, self.port, self.context, self.knock_s = settings, host, port, context, knock_s
        self.sasl = settings.kafka_security_protocol.startswith("SASL")

    def run(self) -> list[Address]:
        """The brokers that it advertises, as far as it tells. Raises Shut or Silent, or lets us in."""
        if self.context is None:
            with self._connected() as plain:
                return self._ask(plain)
        with self._connected() as plain, self._encrypted(plain, self.context) as encrypted:
            try:
                return self._ask(encrypted)
            except ssl.SSLError as error:
                raise Shut(about_own_certificate(error, self.settings)) from None
            except Silent:
                # With TLS 1.3 a client's certificate is refused after the handshake, and a reset can overtake the reason.
                self._listen(self.context)
                raise

    # Connections

    @contextmanager
    def _connected(self) -> Iterator[socket.socket]:
        try:
            with socket.create_connection((self.host, self.port), self.knock_s) as connection:
                yield connection
        except ssl.SSLError:
            raise
        except OSError as error:  # also a name that is not known, and a timeout
            raise Silent(error.strerror or str(error)) from None

    @contextmanager
    def _encrypted(self, plain: socket.socket, context: ssl.SSLContext) -> Iterator[socket.socket]:
        try:
            encrypted = context.wrap_socket(plain, server_hostname=self.host.rstrip("."))
        except ssl.SSLCertVerificationError as error:
            raise Shut(about_brokers_certificate(error, self.settings, self.host)) from None
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionError) as error:
            if self._answers_without_tls():
                raise Shut(
                    "the broker does not speak TLS here: set REFLINK_KAFKA_SECURITY_PROTOCOL, or use its TLS port"
                ) from None
            raise Silent(error.strerror or str(error)) from None
        except ssl.SSLError as error:
            if (
                "ALERT" in (error.reason or "")
                and "VERSION" not in (error.reason or "")
                and "FAILURE" not in (error.reason or "")
            ):
                raise Shut(about_own_certificate(error, self.settings)) from None
            raise Shut(
                f"TLS fails ({words_of(error)}): is this a TLS port (REFLINK_KAFKA_SECURITY_PROTOCOL), and does it take "
                "TLS 1.2 or 1.3?"
            ) from None
        with encrypted:
            yield encrypted

    def _answers_without_tls(self) -> bool:
        try:
            with self._connected() as plain:
                self._request(plain, _API_VERSIONS, 0)
        except (Shut, Silent):
            return False
        return True

    def _listen(self, context: ssl.SSLContext) -> None:
        try:
            with self._connected() as plain, self._encrypted(plain, context) as encrypted:
                encrypted.settimeout(1.0)
                encrypted.recv(1)
        except ssl.SSLError as error:
            raise Shut(about_own_certificate(error, self.settings)) from None
        except (OSError, Silent):
            return

    # The protocol

    def _ask(self, connection: socket.socket) -> list[Address]:
        self._request(connection, _API_VERSIONS, 0)
        mechanism = self.settings.kafka_sasl_mechanism or "SCRAM-SHA-512"
        if not self.sasl:
            # A broker that wants a login says so; any other answer, or none, is that of one that does not.
            try:
                answer = self._request(connection, _SASL_HANDSHAKE, 1, _text(mechanism))
            except Silent:
                return []
            if _short(answer, 0) in (_NO_ERROR, _UNSUPPORTED_MECHANISM):
                raise Shut(
                    "the broker wants a login (SASL): set REFLINK_KAFKA_SECURITY_PROTOCOL="
                    f"{'SASL_SSL' if self.context else 'SASL_PLAINTEXT'} with REFLINK_KAFKA_SASL_MECHANISM, "
                    "REFLINK_KAFKA_SASL_USERNAME and REFLINK_KAFKA_SASL_PASSWORD"
                )
            return self._advertised(connection)
        answer = self._request(connection, _SASL_HANDSHAKE, 1, _text(mechanism))
        code = _short(answer, 0)
        if code == _UNSUPPORTED_MECHANISM:
            raise Shut(f"the broker takes {', '.join(_texts(answer, 2))} and not {mechanism}: set REFLINK_KAFKA_SASL_MECHANISM")
        if code != _NO_ERROR:
            raise Shut(
                "the broker takes no login (SASL) here: set REFLINK_KAFKA_SECURITY_PROTOCOL="
                f"{'SSL' if self.context else 'PLAINTEXT'}, or use its SASL port"
            )
        self._log_in(connection, mechanism)
        return self._advertised(connection)

    def _advertised(self, connection: socket.socket) -> list[Address]:
        try:
            answer = self._request(connection, _METADATA, 1, struct.pack(">i", 0))  # of no topic
        except Silent:
            return []  # it let us in; what it may not like is this old version
        return list(_brokers(answer))

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
            raise Shut(
                f"what answers does not know the password of {user} as the broker would: "
                "is REFLINK_KAFKA_BOOTSTRAP_SERVERS right?"
            ) from None

    def _authenticate(self, connection: socket.socket, token: bytes) -> bytes:
        answer = self._request(connection, _SASL_AUTHENTICATE, 0, struct.pack(">i", len(token)) + token)
        size = max(0, _short(answer, 2))
        said = answer[4 : 4 + size].decode("utf-8", "replace")
        if _short(answer, 0) != _NO_ERROR:
            raise Shut(about_login(self.settings, said))
        return answer[8 + size :]

    def _request(self, connection: socket.socket, api: int, version: int, body: bytes = b"") -> bytes:
        """Sends a request of the old, inflexible format that all brokers read, and returns the body of its answer."""
        header = struct.pack(">hhi", api, version, api) + _text("reflink")
        try:
            connection.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
            head = _exactly(connection, 4)
            if head.startswith(_TLS_RECORDS):
                raise Shut(
                    "the broker speaks TLS here: set REFLINK_KAFKA_SECURITY_PROTOCOL="
                    f"{'SASL_SSL' if self.sasl else 'SSL or SASL_SSL'}"
                )
            (size,) = struct.unpack(">i", head)
            if not 4 <= size <= _LARGEST_ANSWER:
                raise Shut("what answers is no Kafka broker: check REFLINK_KAFKA_BOOTSTRAP_SERVERS")
            return _exactly(connection, size)[4:]
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as error:
            raise Silent(error.strerror or "the connection was closed") from None
        except ssl.SSLError:
            raise
        except OSError as error:
            raise Silent(error.strerror or str(error)) from None


def about_login(settings: KafkaSettings, said: str) -> str:
    """That the broker refuses the user, in its own words, and what to do."""
    return (
        f"the broker refuses the user {settings.kafka_sasl_username} ({said or 'without a word'}): check "
        "REFLINK_KAFKA_SASL_USERNAME, REFLINK_KAFKA_SASL_PASSWORD and REFLINK_KAFKA_SASL_MECHANISM"
    )


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise Silent("the connection was closed")
        data += part
    return data


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _short(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "big", signed=True)


def _brokers(data: bytes) -> Iterator[Address]:
    """An array of brokers: number, host, port, rack. Ends where the data do."""
    count, at = int.from_bytes(data[:4], "big"), 4
    for _ in range(min(count, 1000)):
        size = max(0, _short(data, at + 4))
        host, at = data[at + 6 : at + 6 + size], at + 6 + size
        if len(data) < at + 6:
            return
        yield host.decode("utf-8", "replace"), int.from_bytes(data[at : at + 4], "big") & 0xFFFF
        at += 6 + max(0, _short(data, at + 4))


def _texts(data: bytes, at: int) -> Iterator[str]:
    """An array of strings. Ends where the data do."""
    count, at = int.from_bytes(data[at : at + 4], "big"), at + 4
    for _ in range(min(count, 100)):
        size = max(0, _short(data, at))
        yield data[at + 2 : at + 2 + size].decode("utf-8", "replace")
        at += 2 + size
