"""The client's side of TLS: its context, made as kafka-python makes it, with every fault named by its setting."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from workers.errors import BadSettings
from workers.settings import KafkaSettings

#: How a certificate writes times (ASN.1's UTCTime and GeneralizedTime), by tag.
_TIMES: Final = {0x17: "%y%m%d%H%M%SZ", 0x18: "%Y%m%d%H%M%SZ"}
_VERSION_TAG: Final = 0xA0
#: OpenSSL's codes for what is wrong with the other side's certificate.
_NOT_YET_VALID, _EXPIRED, _OTHER_HOST = 9, 10, (62, 64)
_UNKNOWN_AUTHORITY: Final = (2, 18, 19, 20, 21)


def tls_context(settings: KafkaSettings) -> ssl.SSLContext:
    """Trusts and shows what the settings say. Raises BadSettings for a file that is absent or is not what it should be."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = settings.kafka_ssl_check_hostname
    if settings.kafka_ssl_cafile is None:
        context.load_default_certs()
    else:
        _need(settings.kafka_ssl_cafile, "KAFKA_SSL_CAFILE")
        try:
            context.load_verify_locations(settings.kafka_ssl_cafile)
        except ssl.SSLError:
            raise BadSettings(
                f"REFLINK_KAFKA_SSL_CAFILE: {settings.kafka_ssl_cafile} holds no certificates in PEM format"
            ) from None
    if settings.kafka_ssl_certfile is not None:
        _load_own(context, settings, settings.kafka_ssl_certfile)
    return context


def _load_own(context: ssl.SSLContext, settings: KafkaSettings, certfile: Path) -> None:
    keyfile, secret = settings.kafka_ssl_keyfile, settings.kafka_ssl_password
    _need(certfile, "KAFKA_SSL_CERTFILE")
    if keyfile is not None:
        _need(keyfile, "KAFKA_SSL_KEYFILE")
    asked = False

    def password() -> str:
        # Without one, OpenSSL would ask at the terminal and wait.
        nonlocal asked
        asked = True
        return secret.get_secret_value() if secret is not None else ""

    try:
        context.load_cert_chain(certfile, keyfile, password)
    except (ssl.SSLError, ValueError) as error:
        key = f"REFLINK_KAFKA_SSL_KEYFILE ({keyfile})" if keyfile else f"the key in REFLINK_KAFKA_SSL_CERTFILE ({certfile})"
        if asked:
            wrong = "does not open" if secret is not None else "is unset and is needed to open"
            raise BadSettings(f"REFLINK_KAFKA_SSL_PASSWORD {wrong} {key}") from None
        if getattr(error, "reason", "") == "KEY_VALUES_MISMATCH":
            raise BadSettings(f"{key} is not the key of the certificate in REFLINK_KAFKA_SSL_CERTFILE ({certfile})") from None
        raise BadSettings(f"{key}, or REFLINK_KAFKA_SSL_CERTFILE ({certfile}), is not in PEM format") from None


def _need(path: Path, name: str) -> None:
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise BadSettings(f"REFLINK_{name}: {path}: {error.strerror}") from None


def validity(certfile: Path) -> tuple[datetime, datetime] | None:
    """From when to when the first certificate of a PEM file is valid; None when that cannot be read.

    The standard library reads the dates of the other side's certificate only, and after a refusal ours is in question.
    """
    try:
        text = certfile.read_text(encoding="ascii", errors="replace")
        end = "-----END CERTIFICATE-----"
        der = ssl.PEM_cert_to_DER_cert(text[text.index("-----BEGIN CERTIFICATE-----") : text.index(end) + len(end)])
        _, start, _ = _element(der, 0)  # Certificate
        _, at, _ = _element(der, start)  # what is signed
        tag, _, after = _element(der, at)
        fields_before = 3 if tag == _VERSION_TAG else 2  # serial number (after a version), algorithm, issuer
        for _ in range(fields_before):
            _, _, after = _element(der, after)
        _, at, _ = _element(der, after)
        tag, start, middle = _element(der, at)
        begins = _time(tag, der[start:middle])
        tag, start, stop = _element(der, middle)
        return begins, _time(tag, der[start:stop])
    except (OSError, ValueError, KeyError, IndexError):
        return None


def _element(der: bytes, at: int) -> tuple[int, int, int]:
    """Tag, start and end of the content of the DER element at ``at``."""
    size, start = der[at + 1], at + 2
    if size & 0x80:
        start += size & 0x7F
        size = int.from_bytes(der[at + 2 : start], "big")
    return der[at], start, start + size


def _time(tag: int, text: bytes) -> datetime:
    return datetime.strptime(text.decode("ascii"), _TIMES[tag]).replace(tzinfo=UTC)


def about_brokers_certificate(error: ssl.SSLCertVerificationError, settings: KafkaSettings, host: str) -> str:
    """Why we refuse the certificate of the broker at ``host``, and what to do."""
    code, cafile = error.verify_code, settings.kafka_ssl_cafile or "unset: the system's own"
    if code == _EXPIRED:
        return "the broker's certificate has expired: renew it on the broker; REFLINK_KAFKA_SSL_CAFILE need not change"
    if code == _NOT_YET_VALID:
        return "the broker's certificate is not valid yet: compare the clocks; REFLINK_KAFKA_SSL_CAFILE need not change"
    if code in _OTHER_HOST:
        return (
            f"the broker's certificate names another host than {host}: write the name that it has in "
            "REFLINK_KAFKA_BOOTSTRAP_SERVERS (REFLINK_KAFKA_SSL_CHECK_HOSTNAME=false gives this check up)"
        )
    if code in _UNKNOWN_AUTHORITY:
        return f"the broker's certificate is signed by none of the authorities in REFLINK_KAFKA_SSL_CAFILE ({cafile})"
    return f"the broker's certificate is refused ({error.verify_message}): check REFLINK_KAFKA_SSL_CAFILE ({cafile})"


def about_own_certificate(error: ssl.SSLError, settings: KafkaSettings) -> str:
    """Why the broker refuses our certificate, or that we show none, and what to do."""
    certfile = settings.kafka_ssl_certfile
    if certfile is None:
        return (
            f"the broker wants a client's certificate ({words_of(error)}): set REFLINK_KAFKA_SSL_CERTFILE and "
            "REFLINK_KAFKA_SSL_KEYFILE"
        )
    dates, now = validity(certfile), datetime.now(UTC)
    if dates is not None and dates[1] < now:
        why = f"it expired at {dates[1]:%Y-%m-%d %H:%M} UTC, renew it"
    elif dates is not None and dates[0] > now:
        why = f"it is not valid before {dates[0]:%Y-%m-%d %H:%M} UTC, compare the clocks"
    else:
        why = "is it signed by an authority that the broker trusts?"
    return f"the broker refuses the client's certificate ({words_of(error)}), REFLINK_KAFKA_SSL_CERTFILE ({certfile}): {why}"


def words_of(error: ssl.SSLError) -> str:
    """OpenSSL's reason, to be read."""
    return (error.reason or "no reason given").lower().replace("_", " ")
