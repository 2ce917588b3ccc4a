"""The client's TLS context, created as kafka-python creates it; every error names the setting at fault."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

from workers.config.settings import KafkaSettings
from workers.errors import BadSettings

#: OpenSSL's error codes for the peer's certificate.
_NOT_YET_VALID, _EXPIRED, _OTHER_HOST = 9, 10, (62, 64)
_UNKNOWN_AUTHORITY: Final = (2, 18, 19, 20, 21)


def tls_context(settings: KafkaSettings) -> ssl.SSLContext:
    """Return the TLS context with the configured authorities and certificate. Raises BadSettings for a missing or bad file."""
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
                f"REFLINK_KAFKA_SSL_CAFILE: {settings.kafka_ssl_cafile} contains no certificates in PEM format"
            ) from None
    if settings.kafka_ssl_certfile is not None:
        _load_own(context, settings, settings.kafka_ssl_certfile)
    return context


def _load_own(context: ssl.SSLContext, settings: KafkaSettings, certfile: Path) -> None:
    keyfile, secret = settings.kafka_ssl_keyfile, settings.kafka_ssl_password
    _need(certfile, "KAFKA_SSL_CERTFILE")
    if keyfile is not None:
        _need(keyfile, "KAFKA_SSL_KEYFILE")
    requested = False

    def password() -> str:
        # Without a callback, OpenSSL would wait for input at the terminal.
        nonlocal requested
        requested = True
        return secret.get_secret_value() if secret is not None else ""

    try:
        context.load_cert_chain(certfile, keyfile, password)
    except (ssl.SSLError, ValueError) as error:
        key = f"REFLINK_KAFKA_SSL_KEYFILE ({keyfile})" if keyfile else f"the key in REFLINK_KAFKA_SSL_CERTFILE ({certfile})"
        if requested:
            wrong = "cannot decrypt" if secret is not None else "is not set and is required for"
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


def about_brokers_certificate(error: ssl.SSLCertVerificationError, settings: KafkaSettings, host: str) -> str:
    """Return why this client refuses the certificate of the broker at ``host``, and the remedy."""
    code, cafile = error.verify_code, settings.kafka_ssl_cafile or "unset: the system's own"
    if code == _EXPIRED:
        return "the broker's certificate has expired: renew it on the broker; REFLINK_KAFKA_SSL_CAFILE can stay as it is"
    if code == _NOT_YET_VALID:
        return "the broker's certificate is not valid yet: compare the clocks; REFLINK_KAFKA_SSL_CAFILE can stay as it is"
    if code in _OTHER_HOST:
        return (
            f"the broker's certificate is not for the host {host}: use the certificate's host name in "
            "REFLINK_KAFKA_BOOTSTRAP_SERVERS (REFLINK_KAFKA_SSL_CHECK_HOSTNAME=false disables this check)"
        )
    if code in _UNKNOWN_AUTHORITY:
        return f"no authority that signed the broker's certificate is in REFLINK_KAFKA_SSL_CAFILE ({cafile})"
    return f"the broker's certificate is not accepted ({error.verify_message}): check REFLINK_KAFKA_SSL_CAFILE ({cafile})"


def about_own_certificate(error: ssl.SSLError, settings: KafkaSettings) -> str:
    """Return why the broker rejects the client certificate, or that it requires one, and the remedy."""
    certfile = settings.kafka_ssl_certfile
    if certfile is None:
        return (
            f"the broker requires a client certificate ({words_of(error)}): set REFLINK_KAFKA_SSL_CERTFILE and "
            "REFLINK_KAFKA_SSL_KEYFILE"
        )
    return (
        f"the broker rejects the client certificate ({words_of(error)}), REFLINK_KAFKA_SSL_CERTFILE ({certfile}): "
        f"check that it is valid today (openssl x509 -noout -dates -in {certfile}) and that the broker trusts its authority"
    )


def words_of(error: ssl.SSLError) -> str:
    """Return OpenSSL's reason as readable text."""
    return (error.reason or "no reason given").lower().replace("_", " ")
