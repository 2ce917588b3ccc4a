"""The commands ``settings``, ``metrics`` and ``schemas``: write the reference pages and the JSON Schemas."""

from __future__ import annotations

import argparse
from pathlib import Path

from workers.cli.command import AddCommand


def add_to(command: AddCommand) -> None:
    """Add the commands ``settings``, ``metrics`` and ``schemas``."""
    command("settings", "list every setting, as docs/configuration.md", _settings)
    command("metrics", "list every metric, as docs/metrics.md", _metrics)
    schemas = command("schemas", "write the JSON Schema of every event", _schemas)
    schemas.add_argument("folder", type=Path, metavar="FOLDER")


def _settings(_: argparse.Namespace) -> int:
    from workers.cli.settings_page import settings_page

    print(settings_page(), end="")
    return 0


def _metrics(_: argparse.Namespace) -> int:
    from workers.cli.settings_page import metrics_page

    print(metrics_page(), end="")
    return 0


def _schemas(arguments: argparse.Namespace) -> int:
    from schemas.export import write_schemas

    for path in write_schemas(arguments.folder):
        print(path)
    return 0
