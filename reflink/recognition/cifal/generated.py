"""Generated citations for the task-guided stage: the tagged records of articles, printed in random styles."""

from __future__ import annotations

import random
from collections.abc import Sequence

from reflink.recognition.labelled import Labelled
from reflink.recognition.labels import V
from reflink.recognition.styles import render
from reflink.recognition.tokens import tokenise


def generate(records: Sequence[Labelled], count: int, longest: int, rng: random.Random) -> list[Labelled]:
    """Return at most ``count`` records printed in random styles, each with a venue and at most ``longest`` tokens."""
    people = [record for record in records if record.names]
    found: list[Labelled] = []
    for record in rng.sample(list(records), len(records)) if people else ():
        if len(found) == count:
            break
        printed = render(record, people, rng)
        if printed and V in printed.labels and len(printed.labels) == len(tokenise(printed.text).words) <= longest:
            found.append(printed)
    return found
