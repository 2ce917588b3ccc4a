"""Make one work of the records that several sources have of it, by rules that a user can set.

``settle`` takes the records of one connected component, decides which of them are one work, merges their fields, and leaves
each identifier with one work.
"""

from reflink.merging.members import Conflict, Member, Merged
from reflink.merging.rules import VERSION, Rules, read_rules
from reflink.merging.settling import settle

__all__ = ["VERSION", "Conflict", "Member", "Merged", "Rules", "read_rules", "settle"]
