"""``python -m workers.devkit [opensearch]``: report what the local pipeline lacks, and download the jars of its servers.

These are Kafka's, and with ``opensearch`` also those of the search engine.
"""

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
            if "opensearch" in sys.argv[1:]:
                bring()
        except LocalSetupError as error:
            missing.append(str(error))
    for line in missing:
        print(line, file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
