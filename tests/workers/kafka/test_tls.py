"""The client's side of TLS: the error of each fault names its setting, before any connection to a broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.secure import Certificates
from workers.config.settings import KafkaSettings
from workers.errors import BadSettings
from workers.kafka.tls import tls_context


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


def refusal(**settings: Any) -> str:
    with pytest.raises(BadSettings) as error:
        tls_context(KafkaSettings(kafka_security_protocol="SSL", **settings))
    assert "s3cr3t" not in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_valid_files_are_accepted(certificates: Certificates):
    certfile, keyfile = certificates.issue("a", password="s3cr3t")
    files = {"kafka_ssl_cafile": certificates.cafile(), "kafka_ssl_certfile": certfile, "kafka_ssl_keyfile": keyfile}
    tls_context(KafkaSettings(kafka_security_protocol="SSL", **files, kafka_ssl_password="s3cr3t"))


@pytest.mark.parametrize("name", ["cafile", "certfile", "keyfile"])
def test_a_missing_file_is_named(name: str, certificates: Certificates, tmp_path: Path):
    certfile, keyfile = certificates.issue("a")
    files = {"kafka_ssl_cafile": certificates.cafile(), "kafka_ssl_certfile": certfile, "kafka_ssl_keyfile": keyfile}
    message = refusal(**{**files, f"kafka_ssl_{name}": tmp_path / "no.pem"})
    assert message == f"REFLINK_KAFKA_SSL_{name.upper()}: {tmp_path / 'no.pem'}: No such file or directory"


def test_a_file_that_is_not_pem_is_refused(certificates: Certificates, tmp_path: Path):
    (odd := tmp_path / "odd.pem").write_text("no certificate")
    certfile, keyfile = certificates.issue("a")
    assert refusal(kafka_ssl_cafile=odd) == f"REFLINK_KAFKA_SSL_CAFILE: {odd} contains no certificates in PEM format"
    assert "REFLINK_KAFKA_SSL_CERTFILE" in refusal(kafka_ssl_certfile=odd, kafka_ssl_keyfile=keyfile)
    assert "REFLINK_KAFKA_SSL_KEYFILE" in refusal(kafka_ssl_certfile=certfile, kafka_ssl_keyfile=odd)
    assert "the key in REFLINK_KAFKA_SSL_CERTFILE" in refusal(kafka_ssl_certfile=certfile)


def test_an_encrypted_key_needs_its_password(certificates: Certificates):
    certfile, keyfile = certificates.issue("a", password="s3cr3t")
    files = {"kafka_ssl_certfile": certfile, "kafka_ssl_keyfile": keyfile}
    assert refusal(**files).startswith("REFLINK_KAFKA_SSL_PASSWORD is not set and is required for REFLINK_KAFKA_SSL_KEYFILE")
    assert refusal(**files, kafka_ssl_password="s3cr3t2").startswith(
        "REFLINK_KAFKA_SSL_PASSWORD cannot decrypt REFLINK_KAFKA_SSL_KEYFILE"
    )


def test_a_key_of_another_certificate_is_refused(certificates: Certificates):
    certfile, _ = certificates.issue("a")
    _, keyfile = certificates.issue("b")
    assert "is not the key of the certificate" in refusal(kafka_ssl_certfile=certfile, kafka_ssl_keyfile=keyfile)
