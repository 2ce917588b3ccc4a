"""Keep a catalog up to date with its sources: a state of all source records, merged to works, and the changes since last time.

`update` reads the new files of the sources into a `State`; `Changes` are the works to publish since the last publication.
"""

from reflink.updating.changes import Change, export, pending, published
from reflink.updating.state import State
from reflink.updating.update import Input, Limits, Report, update

__all__ = ["Change", "Input", "Limits", "Report", "State", "export", "pending", "published", "update"]
