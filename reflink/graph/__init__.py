"""The links as files: the newest of each reference, as JSON lines, as citations in OpenCitations' columns, as Parquet.

``newest`` keeps the newest value of every key on disk, ``formats`` writes a row at a time, ``export`` gives the folder its name
when all of it is whole.
"""

from __future__ import annotations

from typing import Final

#: The formats by their names on the command line, in the order in which they are written.
FORMATS: Final = ("parquet", "csv", "jsonl")
