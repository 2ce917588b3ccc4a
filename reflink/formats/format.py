"""The contract of a format.

1. `recognises` returns true only for content that `parse` can read. It looks at the root element, the keys of JSON, the first
   bytes or the text, and is cheap.
2. `parse` never raises anything but NotAPaper, TooLarge and PackageMissing for any bytes, in time and memory that ``limits``
   bound. It reads no network and no file.
3. Equal bytes give equal papers, with equal ids.
4. A missing field means that the paper does not state it; a guess belongs into `reflink.entities.Inferred`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from reflink.contexts.paragraphs import Paragraph
from reflink.entities import Link, Paper, Work
from reflink.errors import NotAPaper
from reflink.formats.content import Content
from reflink.limits import Limits


@dataclass(frozen=True, slots=True)
class Options:
    """``infer``: recognise the fields of untagged citations. ``text``: read the text of the paper too (`Parsed.paragraphs`)."""

    limits: Limits = field(default_factory=Limits)
    infer: bool = True
    text: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """One paper. ``paragraphs``: of its text, those with mentions and their neighbours at least; empty unless requested."""

    paper: Paper
    paragraphs: tuple[Paragraph, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of one reference, and the cited work; None without a link."""

    link: Link
    work: Work | None


class Format(ABC):
    """One format of papers, e.g. GROBID's TEI."""

    #: The name on the command line and in the header ``reflink-format``.
    name: ClassVar[str]
    #: One line for ``--help``: whose files these are.
    about: ClassVar[str]
    #: Endings of its files, lower case, with the dot.
    endings: ClassVar[tuple[str, ...]]
    #: Whether `with_links` writes this format.
    writes: ClassVar[bool] = False

    @abstractmethod
    def recognises(self, content: Content) -> bool:
        """Return whether the content is of this format."""

    @abstractmethod
    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the papers. Raises NotAPaper, TooLarge, and PackageMissing if the format needs an optional package."""

    def with_links(self, content: Content, decisions: Mapping[str, Decision]) -> bytes:
        """Return the content with the links added to its references. ``decisions``: by the id of the reference.

        Only the references change. Raises NotAPaper if the format, or this content, cannot be written.
        """
        raise NotAPaper(f"{content.name}: the format {self.name} cannot be written")
