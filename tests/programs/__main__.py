"""``python -m tests.programs NAME…``: see the package."""

from __future__ import annotations

import argparse
import sys

from tests.programs import NAMES, program
from tests.programs.errors import ProgramMissing


def main() -> int:
    """Print the path of each program; return 1 if a program is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.programs",
        description="Builds or unpacks programs that pip does not install, and prints their paths.",
    )
    parser.add_argument("names", nargs="+", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    try:
        for name in parser.parse_args().names:
            print(f"{name}: {program(name)}", flush=True)
    except ProgramMissing as error:
        print(f"programs: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
