"""The client's side of TLS: every fault is named by its setting before any broker is asked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.secure import Certificates
from workers.certificates import tls_context, validity
from workers.errors import BadSettings
from workers.settings import KafkaSettings


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


def refusal(**settings: Any) -> str:
    with pytest.raises(BadSettings) as error:
        tls_context(KafkaSettings(kafka_security_protocol="SSL", **settings))
    assert "s3cr3t" not in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_what_is_right_is_taken(certificates: Certificates):
    certfile, keyfile = certificates.issue("a", password="s3cr3t")
    tls_context(
        KafkaSettings(
            kafka_security_protocol="SSL",
            kafka_ssl_cafile=certificates.cafile(),
            kafka_ssl_certfile=certfile,
            kafka_ssl_keyfile=keyfile,
            kafka_ssl_password="s3cr3t",
        )
    )


@pytest.mark.parametrize("name", ["cafile", "certfile", "keyfile"])
def test_a_file_that_is_not_there(name: str, certificates: Certificates, tmp_path: Path):
    certfile, keyfile = certificates.issue("a")
    files = {"kafka_ssl_cafile": certificates.cafile(), "kafka_ssl_certfile": certfile, "kafka_ssl_keyfile": keyfile}
    said = refusal(**{**files, f"kafka_ssl_{name}": tmp_path / "no.pem"})
    assert said == f"REFLINK_KAFKA_SSL_{name.upper()}: {tmp_path / 'no.pem'}: No such file or directory"


def test_what_is_no_pem(certificates: Certificates, tmp_path: Path):
    (odd := tmp_path / "odd.pem").write_text("no certificate")
    certfile, keyfile = certificates.issue("a")
    assert refusal(kafka_ssl_cafile=odd) == f"REFLINK_KAFKA_SSL_CAFILE: {odd} holds no certificates in PEM format"
    assert "REFLINK_KAFKA_SSL_CERTFILE" in refusal(kafka_ssl_certfile=odd, kafka_ssl_keyfile=keyfile)
    assert "REFLINK_KAFKA_SSL_KEYFILE" in refusal(kafka_ssl_certfile=certfile, kafka_ssl_keyfile=odd)
    assert "the key in REFLINK_KAFKA_SSL_CERTFILE" in refusal(kafka_ssl_certfile=certfile)


def test_a_locked_key_needs_its_password_and_nobody_is_asked_at_the_terminal(certificates: Certificates):
    certfile, keyfile = certificates.issue("a", password="s3cr3t")
    files = {"kafka_ssl_certfile": certfile, "kafka_ssl_keyfile": keyfile}
    assert refusal(**files).startswith("REFLINK_KAFKA_SSL_PASSWORD is unset and is needed to open REFLINK_KAFKA_SSL_KEYFILE")
    assert refusal(**files, kafka_ssl_password="s3cr3t2").startswith(
        "REFLINK_KAFKA_SSL_PASSWORD does not open REFLINK_KAFKA_SSL_KEYFILE"
    )


def test_a_key_of_another_certificate(certificates: Certificates):
    certfile, _ = certificates.issue("a")
    _, keyfile = certificates.issue("b")
    assert "is not the key of the certificate" in refusal(kafka_ssl_certfile=certfile, kafka_ssl_keyfile=keyfile)


@pytest.mark.parametrize("year", [2001, 2049, 2050, 2160])  # from 2050 on, certificates write years with four digits
def test_dates_are_read_as_they_were_written(year: int, tmp_path: Path):
    begins, ends = datetime(2000, 1, 2, 3, 4, 5, tzinfo=UTC), datetime(year, 12, 31, 23, 59, 58, tzinfo=UTC)
    issued = trustme.CA().issue_cert("a.example", not_before=begins, not_after=ends)
    path = tmp_path / "a.pem"
    path.write_bytes(b"Bag attributes\n" + issued.cert_chain_pems[0].bytes())
    assert validity(path) == (begins, ends)


@pytest.mark.parametrize("size", [0, 1, 10, 50, 100, 300, 500])
def test_dates_of_what_is_cut_off_are_unknown(size: int, certificates: Certificates):
    certfile, _ = certificates.issue("a")
    lines = certfile.read_text().splitlines()
    body = "".join(lines[1 : lines.index("-----END CERTIFICATE-----")])[: size // 4 * 4]
    certfile.write_text(f"{lines[0]}\n{body}\n-----END CERTIFICATE-----\n")
    found = validity(certfile)
    assert found is None or size > 100


def test_no_dates_of_no_file(tmp_path: Path):
    assert validity(tmp_path / "no.pem") is None
