"""``python -m workers.cli``: the same as ``reflink-worker``."""

import sys

from workers.cli import main

sys.exit(main())
