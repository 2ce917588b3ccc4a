"""PubMed: baseline and update files, and answers of the E-utilities."""

from reflink.sources.medline.reading import Medline as Medline
from reflink.sources.medline.records import record as record
