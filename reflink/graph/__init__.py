"""Export the newest link of each reference to files: JSON lines, citations in OpenCitations' columns, or Parquet.

``newest`` keeps the newest value of every key on disk, ``formats`` writes row by row, and ``export`` gives the folder its name
when all files are complete.
"""

from __future__ import annotations

from typing import Final

#: Names of the formats on the command line, in the order in which the files are written.
FORMATS: Final = ("parquet", "csv", "jsonl")
#: Name of the format that joins the links with the topic ``contexts``, which no file of links contains.
CONTEXTS: Final = "contexts"
