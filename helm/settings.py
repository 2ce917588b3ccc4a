"""Copy the settings of workers.config.settings that chart values may contain into the chart's values.schema.json.

python -m helm.settings          # writes helm/reflink/values.schema.json anew
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from workers.config import settings
from workers.config.indexer import IndexerSettings
from workers.config.settings import KafkaSettings

CHART: Final = Path(__file__).resolve().parent / "reflink"
SCHEMA: Final = CHART / "values.schema.json"
MODELS: Final[tuple[type[KafkaSettings], ...]] = (
    settings.ParserSettings, settings.LinkerSettings, settings.FallbackSettings, settings.LedgerSettings, IndexerSettings,
)  # fmt: skip
#: Settings that the chart sets itself, from values with other names or for reasons of its own.
OWN: Final = frozenset((
    "kafka_bootstrap_servers", "kafka_security_protocol", "kafka_sasl_mechanism", "kafka_sasl_username",
    "kafka_sasl_password", "kafka_ssl_cafile", "kafka_ssl_certfile", "kafka_ssl_keyfile", "kafka_ssl_password",
    "kafka_ssl_check_hostname", "topic_prefix", "slot", "state_dir", "http_host", "http_port", "catalog_copy",
    "catalog_snapshot", "engine", "engine_urls", "engine_index", "engine_username", "engine_password", "engine_ca_file",
    "engine_timeout_s", "engine_hits", "engine_wider_hits", "engine_shards", "engine_replicas",
))  # fmt: skip
_KEPT: Final = ("type", "enum", "const", "pattern", "minLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_DECIMAL: Final = r"^-?[0-9]+(\.[0-9]+)?$"


def properties() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each setting, by environment variable."""
    found: dict[str, dict[str, Any]] = {}
    for model in MODELS:
        for name, field in model.model_json_schema()["properties"].items():
            if name not in OWN:
                found[f"REFLINK_{name.upper()}"] = _plain(field)
    return dict(sorted(found.items()))


def own_names() -> list[str]:
    """Return the variables that the chart sets itself, and the variable that names a settings file."""
    return sorted([*(f"REFLINK_{name.upper()}" for name in OWN), "REFLINK_CONFIG"])


def renewed(schema: str) -> str:
    """Return the chart's schema with the current settings."""
    whole = json.loads(schema)
    whole["definitions"]["settings"]["properties"] = properties()
    whole["definitions"]["extraEnv"]["items"]["properties"]["name"]["not"]["enum"] = own_names()
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _plain(field: dict[str, Any]) -> dict[str, Any]:
    # A setting is left unset by omitting it, so null is not a choice here.
    choice = next((each for each in field.get("anyOf", ()) if each.get("type") != "null"), field)
    kept = {key: choice[key] for key in _KEPT if key in choice}
    words = [each["const"] for each in field.get("anyOf", ()) if "const" in each]
    decimal = "|".join([_DECIMAL, *(f"^{word}$" for word in words)])
    # helm's --set turns every number with a decimal point into text; the worker checks the range.
    return kept | {"type": ["number", "string"], "pattern": decimal} if kept.get("type") == "number" else kept


def main() -> int:
    """Write the schema."""
    SCHEMA.write_text(renewed(SCHEMA.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
