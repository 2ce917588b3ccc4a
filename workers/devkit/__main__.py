"""``python -m workers.devkit``: report what a local Kafka and the model lack, and download the jars of the servers."""

from __future__ import annotations

import sys

from workers.devkit.errors import LocalSetupError
from workers.devkit.jars import KAFKA, jars
from workers.devkit.requirements import missing_needs
from workers.devkit.search_engine import bring


def main() -> int:
    """Return the exit code."""
    missing = list(missing_needs({}))
    if not missing:
        try:
            jars(KAFKA)
            bring()
        except LocalSetupError as error:
            missing.append(str(error))
    for line in missing:
        print(line, file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
