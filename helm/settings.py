"""The settings that values may hold, taken from workers.settings into the chart's values.schema.json.

python -m helm.settings          # writes helm/reflink/values.schema.json anew
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from workers import settings
from workers.settings import KafkaSettings

CHART: Final = Path(__file__).resolve().parent / "reflink"
SCHEMA: Final = CHART / "values.schema.json"
MODELS: Final[tuple[type[KafkaSettings], ...]] = (
    settings.ParserSettings,
    settings.LinkerSettings,
    settings.FallbackSettings,
    settings.LedgerSettings,
)
#: Set by the chart, from values of other names or for reasons of its own.
OWN: Final = frozenset(
    {
        "kafka_bootstrap_servers",
        "kafka_security_protocol",
        "kafka_sasl_mechanism",
        "kafka_sasl_username",
        "kafka_sasl_password",
        "kafka_ssl_cafile",
        "kafka_ssl_certfile",
        "kafka_ssl_keyfile",
        "kafka_ssl_password",
        "kafka_ssl_check_hostname",
        "topic_prefix",
        "slot",
        "state_dir",
        "http_host",
        "http_port",
        "catalog_copy",
        "catalog_snapshot",
    }
)
_KEPT: Final = ("type", "enum", "const", "pattern", "minLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_DECIMAL: Final = r"^-?[0-9]+(\.[0-9]+)?$"


def properties() -> dict[str, dict[str, Any]]:
    """JSON Schema of each setting, by variable."""
    found: dict[str, dict[str, Any]] = {}
    for model in MODELS:
        for name, field in model.model_json_schema()["properties"].items():
            if name not in OWN:
                found[f"REFLINK_{name.upper()}"] = _plain(field)
    return dict(sorted(found.items()))


def own_names() -> list[str]:
    """The variables that the chart sets itself, and the one that would name a file of settings."""
    return sorted([*(f"REFLINK_{name.upper()}" for name in OWN), "REFLINK_CONFIG"])


def renewed(schema: str) -> str:
    """The chart's schema with the settings as they are now."""
    whole = json.loads(schema)
    whole["definitions"]["settings"]["properties"] = properties()
    whole["definitions"]["extraEnv"]["items"]["properties"]["name"]["not"]["enum"] = own_names()
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _plain(field: dict[str, Any]) -> dict[str, Any]:
    # Unset is said by leaving it out, so null is no choice here.
    choice = next((each for each in field.get("anyOf", ()) if each.get("type") != "null"), field)
    kept = {key: choice[key] for key in _KEPT if key in choice}
    # helm's --set makes a text of every number with a point; the worker looks at its range.
    return kept | {"type": ["number", "string"], "pattern": _DECIMAL} if kept.get("type") == "number" else kept


def main() -> int:
    """Writes the schema."""
    SCHEMA.write_text(renewed(SCHEMA.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
