"""Random words, names and numbers for made-up records. The same seed gives the same values."""

from __future__ import annotations

from random import Random
from typing import Final

_SYLLABLES: Final = "al an ber con di er ga hi in ko la mo ne or pa que ri sa ti ul ve wi ya zo".split()


class Maker:
    """Makes records from one stream of random numbers."""

    def __init__(self, seed: int = 1) -> None:
        self.random = Random(seed)
        self.vocabulary = ["".join(self.random.choices(_SYLLABLES, k=self.random.randint(1, 5))) for _ in range(4000)]

    def words(self, mean: int) -> str:
        return " ".join(self.random.choices(self.vocabulary, k=max(1, round(self.random.gauss(mean, mean / 4)))))

    def many(self, mean: float) -> range:
        """Return a range whose length is exponentially distributed."""
        return range(int(self.random.expovariate(1 / mean)))

    def doi(self, number: int) -> str:
        return f"10.{5000 + number % 4000}/{self.vocabulary[number % 4000]}.{number}"

    def name(self) -> tuple[str, str]:
        given, family = self.random.choices(self.vocabulary, k=2)
        return given.title(), family.title()
