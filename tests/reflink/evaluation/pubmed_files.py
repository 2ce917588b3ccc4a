"""A small set in the form of PubMed's records and reference lists."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

RECORDS = [
    {
        "id": f"pmid:{n}", "pmid": str(n), "title": f"Observation number {n} of mountain birds", "authors": [f"Author{n}"],
        "venue": "Journal of birds : official publication", "year": 2000 + n % 10, "volume": str(n),
        "pages": f"{10 * n + 11}-{10 * n + 19}",
    }
    for n in range(1, 31)
]  # fmt: skip


#: Texts with names and title, by the number of the cited record; records from 1000 on are absent.
TITLED_TEXTS = {
    n: f"Author{n % 31} AB. Observation number {n} of {kind}. Journal of birds. {2000 + n % 10};{n % 97}:{10 * n + 11}-9."
    for kind, first in (("mountain birds", 1), ("river fish", 1001))
    for n in range(first, first + 12)
}


def written(path: Path) -> Path:
    """Write the records, and references by their numbers.

    Two references without title for each record, to it and to an absent work at the same locator of another journal; and the
    texts with names and title.
    """
    references = []
    for n, record in enumerate(RECORDS, 1):
        first, _, _ = str(record["pages"]).partition("-")
        where = f"{record['year']} Mar;{record['volume']}(2):{first}-9"
        for journal, number in (("J Birds", n), ("Acta Botanica", 1000 + n)):
            citing, pmid = f"pmid:{9000 + n % 7}", str(number)
            references.append(
                {"citing": citing, "n": number, "raw": f"{journal}. {where}. PMID: {pmid}", "ids": {"pmid": pmid}}
            )
    for number, raw in TITLED_TEXTS.items():
        references.append({"citing": f"pmid:{9000 + number % 7}", "n": 5000 + number, "raw": raw, "ids": {"pmid": str(number)}})
    references.append({"citing": "pmid:1", "n": 1, "raw": "without an id"})
    for name, lines in (("works", RECORDS), ("references_dev", references)):
        (path / f"{name}.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    return path
