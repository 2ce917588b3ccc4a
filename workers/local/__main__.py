"""``python -m workers.local`` says what this machine lacks for a local Kafka and the model, and brings Kafka's jars."""

from __future__ import annotations

import sys

from workers.local.broker import jars
from workers.local.demo import missing_needs
from workers.local.errors import LocalSetupError


def main() -> int:
    """Returns the exit code."""
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
