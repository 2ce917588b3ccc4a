"""How a module of commands adds its own to ``reflink-worker``."""

from __future__ import annotations

import argparse
from collections.abc import Callable

#: Runs a command with its arguments; returns the exit code.
Run = Callable[[argparse.Namespace], int]
#: Adds a command: its name, what it does in one line, what runs it.
AddCommand = Callable[[str, str, Run], argparse.ArgumentParser]
