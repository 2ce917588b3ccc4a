"""Settings of the connection to the broker, shared by all workers and tools."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from workers.errors import BadSettings

Seconds = Annotated[float, Field(gt=0)]


class KafkaSettings(BaseSettings):
    """The connection to the broker and the prefix of the topics."""

    model_config = SettingsConfigDict(env_prefix="REFLINK_", extra="ignore", frozen=True)

    kafka_bootstrap_servers: str = Field("127.0.0.1:9092", description="Brokers as `host:port`, separated by commas.")
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="Protocol of the connections to the brokers."
    )
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = Field(
        None, description="SASL mechanism; required with a SASL protocol."
    )
    kafka_sasl_username: str | None = Field(None, description="SASL user.")
    kafka_sasl_password: SecretStr | None = Field(None, description="SASL password. It is never displayed or logged.")
    kafka_ssl_cafile: Path | None = Field(None, description="PEM file of the authorities that sign the brokers' certificates.")
    kafka_ssl_certfile: Path | None = Field(None, description="PEM file of the client's certificate, for mutual TLS.")
    kafka_ssl_keyfile: Path | None = Field(None, description="PEM file of the client's private key.")
    kafka_ssl_password: SecretStr | None = Field(
        None, description="Password of the private key. It is never displayed or logged."
    )
    kafka_ssl_check_hostname: bool = Field(True, description="Reject a broker whose certificate is for another host.")
    kafka_connect_timeout_s: Seconds = Field(
        30.0, description="Maximum wait for a broker to respond. A client does not wait for a broker that rejects it."
    )
    topic_prefix: str = Field(
        "reflink.",
        pattern=r"^[a-zA-Z0-9._-]*$",
        description="Prefix of all topics, consumer groups and transactional ids.",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Minimum severity of logged lines.")

    @model_validator(mode="after")
    def _sasl_is_whole(self) -> Self:
        if self.kafka_security_protocol.startswith("SASL"):
            for field in ("kafka_sasl_mechanism", "kafka_sasl_username", "kafka_sasl_password"):
                if getattr(self, field) is None:
                    raise ValueError(
                        f"REFLINK_{field.upper()} is required with "
                        f"REFLINK_KAFKA_SECURITY_PROTOCOL={self.kafka_security_protocol}"
                    )
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources by precedence: arguments, the environment, the file named in ``REFLINK_CONFIG``."""
        sources: list[PydanticBaseSettingsSource] = [init_settings, env_settings]
        if file := os.environ.get("REFLINK_CONFIG"):
            if not Path(file).is_file():
                raise BadSettings(f"REFLINK_CONFIG: {file} is not a file")
            try:
                sources.append(TomlConfigSettingsSource(settings_cls, Path(file)))
            except (OSError, ValueError) as error:  # invalid TOML or UTF-8, or no permission
                raise BadSettings(f"REFLINK_CONFIG: {file} cannot be read: {_without_content(error)}") from None
        return tuple(sources)

    def topic(self, name: str) -> str:
        """Return the topic's full name on the broker."""
        return self.topic_prefix + name

    def kafka_client(self) -> dict[str, Any]:
        """Return the keyword arguments of every kafka-python client. They contain secrets: never log them."""
        secret = {
            "sasl_plain_password": self.kafka_sasl_password,
            "ssl_password": self.kafka_ssl_password,
        }
        plain = {
            "bootstrap_servers": self.kafka_bootstrap_servers.split(","),
            "security_protocol": self.kafka_security_protocol,
            "sasl_mechanism": self.kafka_sasl_mechanism,
            "sasl_plain_username": self.kafka_sasl_username,
            "ssl_cafile": self.kafka_ssl_cafile and str(self.kafka_ssl_cafile),
            "ssl_certfile": self.kafka_ssl_certfile and str(self.kafka_ssl_certfile),
            "ssl_keyfile": self.kafka_ssl_keyfile and str(self.kafka_ssl_keyfile),
            "ssl_check_hostname": self.kafka_ssl_check_hostname,
        }
        known = {key: value for key, value in plain.items() if value is not None}
        return known | {key: value.get_secret_value() for key, value in secret.items() if value is not None}


def _without_content(error: Exception) -> str:
    # A decoding error quotes the file, which may hold a password.
    return "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
