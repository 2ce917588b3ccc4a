"""``python -m reflink.cli``."""

import sys

from reflink.cli import main

sys.exit(main())
