"""A broker that requires authentication: TLS, SASL and an authorizer, with certificates made for the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from kafka.admin import ScramMechanism, UserScramCredentialUpsertion

from tests.data import CACHE
from workers.config.settings import KafkaSettings
from workers.devkit.broker import Broker
from workers.devkit.ports import free_port
from workers.kafka.topics import TopicAdmin

#: Listener -> protocol. PLAINTEXT is for the broker itself and the tests: its clients are ANONYMOUS, a super user.
PROTOCOLS = {
    "PLAINTEXT": "PLAINTEXT", "SCRAM": "SASL_SSL", "MUTUAL": "SSL", "OPEN": "SASL_PLAINTEXT", "EXPIRED": "SASL_SSL",
    "ELSEWHERE": "SASL_SSL",
}  # fmt: skip
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
#: Users of all brokers of the tests. The password contains the name of the user, so that a leaked password is recognised.
USERS = ("worker", "leaver", "parser", "linker", "fallback", "ledger", "echo", "stranger", "tools")


def password_of(user: str) -> str:
    """Return the user's password: a text that appears in output only if the secret leaked."""
    return f"s3cr3t-of-{user}"


@dataclass
class Certificates:
    """A certificate authority, and files of the certificates that it signed, under ``folder``."""

    folder: Path
    authority: trustme.CA = field(default_factory=trustme.CA)

    def cafile(self) -> Path:
        """Write the authority's own certificate; return its path."""
        path = self.folder / "ca.pem"
        path.write_bytes(self.authority.cert_pem.bytes())
        return path

    def issue(
        self, name: str, *hosts: str, password: str | None = None, expired: bool = False, early: bool = False
    ) -> tuple[Path, Path]:
        """Write a certificate and its key (PKCS#8), for a server on ``hosts`` or the client ``name``; return both paths."""
        now = datetime.now(UTC)
        dates: dict[str, Any] = {}
        if expired or early:
            start = now + timedelta(days=-9 if expired else 2)
            dates = {"not_before": start, "not_after": start + timedelta(days=7)}
        # Java rejects a certificate whose list of names is empty.
        issued = self.authority.issue_cert(*hosts or (f"{name}.example",), common_name=name, **dates)
        key = load_pem_private_key(issued.private_key_pem.bytes(), None)
        encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        certfile, keyfile = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        certfile.write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))
        keyfile.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
        return certfile, keyfile

    def keystore(self, name: str, *hosts: str, **how: Any) -> Path:
        """Write key and certificate to one file, as the broker requires; return its path."""
        certfile, keyfile = self.issue(name, *hosts, **how)
        path = self.folder / f"{name}.keystore.pem"
        path.write_bytes(keyfile.read_bytes() + certfile.read_bytes())
        return path


@dataclass
class SecureBroker:
    """The broker, the ports of its listeners, and the authority that signs all certificates."""

    broker: Broker
    ports: dict[str, int]
    certificates: Certificates

    def address(self, listener: str) -> str:
        """Return the listener's address as ``host:port``."""
        return f"127.0.0.1:{self.ports[listener]}"

    def as_admin(self, prefix: str = "reflink.") -> KafkaSettings:
        """Return the settings of a super user."""
        return KafkaSettings(kafka_bootstrap_servers=self.address("PLAINTEXT"), topic_prefix=prefix)

    def as_user(self, user: str, mechanism: str = "SCRAM-SHA-512", *, listener: str = "SCRAM", **more: Any) -> dict[str, Any]:
        """Return settings, as keyword arguments, of a user with name and password; the default listener uses TLS."""
        return {
            "kafka_bootstrap_servers": self.address(listener),
            "kafka_security_protocol": PROTOCOLS[listener],
            "kafka_sasl_mechanism": mechanism,
            "kafka_sasl_username": user,
            "kafka_sasl_password": password_of(user),
            "kafka_ssl_cafile": self.certificates.cafile(),
            **more,
        }

    def with_certificate(self, name: str, *, key_password: str | None = None, **how: Any) -> dict[str, Any]:
        """Return settings, as keyword arguments, of a client with a certificate."""
        certfile, keyfile = self.certificates.issue(name, password=key_password, **how)
        return {
            "kafka_bootstrap_servers": self.address("MUTUAL"),
            "kafka_security_protocol": "SSL",
            "kafka_ssl_cafile": self.certificates.cafile(),
            "kafka_ssl_certfile": certfile,
            "kafka_ssl_keyfile": keyfile,
            **({"kafka_ssl_password": key_password} if key_password else {}),
        }

    def change_password(self, user: str, password: str) -> None:
        """Replace the user's password; clients that are connected stay connected."""
        with TopicAdmin(self.as_admin()) as admin:
            for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
                change = UserScramCredentialUpsertion(user, mechanism, password)
                errors = admin.admin.alter_user_scram_credentials([change])
                assert errors == {user: None}, errors


def environment(settings: dict[str, Any]) -> dict[str, str]:
    """Return the settings as environment variables of a process."""
    return {f"REFLINK_{name.upper()}": str(value) for name, value in settings.items()}


@contextmanager
def secure_broker(folder: Path, **more: str) -> Iterator[SecureBroker]:
    """Start a secured broker. ``more`` are server properties, with underscores for dots."""
    folder.mkdir(parents=True, exist_ok=True)
    certificates = Certificates(folder)
    ports = {name: free_port() for name in (*PROTOCOLS, "CONTROLLER")}
    own = certificates.keystore("broker", "127.0.0.1", "localhost")
    extra = {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "advertised.listeners": ",".join(f"{name}://127.0.0.1:{ports[name]}" for name in PROTOCOLS),
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocol}" for name, protocol in {**PROTOCOLS, "CONTROLLER": "PLAINTEXT"}.items()
        ),
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{ports['CONTROLLER']}",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
        **{
            f"listener.name.{name.lower()}.{mechanism}.sasl.jaas.config": f"{_SCRAM_MODULE} required;"
            for name, protocol in PROTOCOLS.items()
            if protocol.startswith("SASL")
            for mechanism in ("scram-sha-256", "scram-sha-512")
        },
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(own),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.cafile()),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.expired.ssl.keystore.type": "PEM",
        "listener.name.expired.ssl.keystore.location": str(certificates.keystore("old", "127.0.0.1", expired=True)),
        "listener.name.elsewhere.ssl.keystore.type": "PEM",
        "listener.name.elsewhere.ssl.keystore.location": str(certificates.keystore("other", "elsewhere.example")),
        "ssl.principal.mapping.rules": r"RULE:^.*CN=([^,]+).*$/$1/",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        # These users test authentication, not authorization.
        "super.users": "User:ANONYMOUS;User:worker;User:leaver;User:mutual",
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    users = {user: password_of(user) for user in USERS}
    with Broker.start(folder / "kafka", port=ports["PLAINTEXT"], cache=CACHE, extra=extra, scram_users=users) as broker:
        yield SecureBroker(broker, ports, certificates)
