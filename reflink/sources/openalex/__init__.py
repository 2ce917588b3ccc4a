"""OpenAlex: its snapshot as JSON lines or Parquet, merged and deleted works, and pages of the REST interface."""

from reflink.sources.openalex.snapshot import OpenAlex as OpenAlex
from reflink.sources.openalex.works import record as record
