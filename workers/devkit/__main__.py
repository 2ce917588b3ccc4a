"""``python -m workers.devkit``: report the missing requirements of a local Kafka and the model, and download Kafka's jars."""

from __future__ import annotations

import sys

from workers.devkit.broker import jars
from workers.devkit.errors import LocalSetupError
from workers.devkit.requirements import missing_needs


def main() -> int:
    """Return the exit code."""
    missing = list(missing_needs({}))
    if not missing:
        try:
            jars()
        except LocalSetupError as error:
            missing.append(str(error))
    for line in missing:
        print(line, file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
