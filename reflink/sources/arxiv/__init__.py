"""arXiv: the lines of its metadata snapshot, and answers of its OAI interface."""

from reflink.sources.arxiv.kaggle import record as record
from reflink.sources.arxiv.oai import oai_record as oai_record
from reflink.sources.arxiv.reading import Arxiv as Arxiv
