"""The entities that reflink reads, compares and publishes: Paper, Reference, Work and Link.

They are immutable pydantic models, validated where data enters. They keep unknown fields and pass them on, so that an old
reader does not drop the fields of a newer writer. Their JSON omits missing fields.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Final, Literal

from reflink.entity_base import Entity as Entity

#: The source of the linked work: an identifier, a locator (volume, first page, author or year), a search, or a curator.
Method = Literal["identifier", "place", "semantic", "lexical", "curator"]

#: The reason why a reference has no link. ``empty``: it has no text to search by. ``no-candidate``: no work is similar.
#: ``below-threshold``: the stage's own score was too low. ``not-in-catalog``: the best candidate is another work.
#: ``other-version``: the best candidate is another version of the cited work, or a work about it; ``related`` names it.
#: ``ambiguous``: two works fit about equally, and the fields of the reference do not tell them apart.
#: ``withdrawn``: its linked work was withdrawn, and it is being re-evaluated. ``forbidden``: a curator forbids the link.
Unresolved = Literal[
    "empty", "no-candidate", "below-threshold", "not-in-catalog", "other-version", "ambiguous", "withdrawn", "forbidden"
]

#: The relation of a work to the cited work. ``version-of``: the same text elsewhere, such as a guideline in several journals, a
#: reprint or a conference abstract; ``instalment-of``: another number of a series, such as a yearly report. ``update-of``: the
#: work is a newer edition; ``updated-by``: an older one. The other values mean the same as in `Relation`.
VersionRelation = Literal[
    "version-of", "preprint-of", "has-preprint", "update-of", "updated-by", "instalment-of", "corrects", "corrected-by",
    "comments-on", "commented-by",
]  # fmt: skip

#: The identifiers that name a work, in order of preference for its id.
ID_KINDS: Final = ("doi", "pmid", "pmcid", "arxiv")
_ids_of: Final = itemgetter(*ID_KINDS)
_NO_IDS: Final = (None,) * len(ID_KINDS)


class Ids(Entity):
    """Normalised ids: ``doi`` lower case from ``10.``, ``pmid`` digits, ``pmcid`` ``PMC…``, ``arxiv`` without version."""

    doi: str | None = None
    pmid: str | None = None
    pmcid: str | None = None
    arxiv: str | None = None

    def keys(self) -> tuple[str, ...]:
        """Return ``kind:value`` of each identifier present, in order of preference for a work's id."""
        values = _ids_of(self.__dict__)
        if values == _NO_IDS:
            return ()
        return tuple([f"{kind}:{value}" for kind, value in zip(ID_KINDS, values, strict=True) if value])


#: The kind of a cited work that is neither an article nor a book. ``case``: a court's decision. ``note``: no work, but an
#: earlier citation ("Ibid."). ``unpublished``: also a personal communication.
Kind = Literal["case", "data", "note", "patent", "report", "software", "standard", "statute", "thesis", "unpublished", "web"]


class Inferred(Entity):
    """The fields recognised in a citation that its publisher did not tag, kept apart from tagged fields.

    A field is present only if the recogniser has high confidence in it. ``kind`` is absent for articles, books, and where the
    text does not show it; `Reference.kind` is the publisher's word.
    """

    kind: Kind | None = None
    title: str | None = None
    last_names: tuple[str, ...] = ()
    venue: str | None = None
    year: int | None = None
    volume: str | None = None
    issue: str | None = None
    first_page: str | None = None
    last_page: str | None = None


class Reference(Entity):
    """One work cited by one entry of a bibliography.

    ``id`` is ``citing # XML id . ordinal``; ``position`` counts the paper's references from 1. ``raw_text`` is all text of the
    citation, ``raw_noid`` the same without identifiers (absent if there are none). ``given_names`` has one entry for each of
    ``last_names`` (empty if unknown); ``collectives`` are the authors that are groups, ``collab`` the first of them.
    ``first_page`` is the article number if there are no pages. ``ids`` come from tags, ``ids_weak`` from text; ``inferred`` is
    present only if nothing was tagged.
    """

    id: str
    citing: str
    position: int
    raw_text: str = ""
    raw_noid: str | None = None
    xml_id: str | None = None
    label: str | None = None
    kind: str | None = None
    title: str | None = None
    translated_title: str | None = None
    chapter_title: str | None = None
    last_names: tuple[str, ...] = ()
    given_names: tuple[str, ...] = ()
    collab: str | None = None
    collectives: tuple[str, ...] = ()
    editors: tuple[str, ...] = ()
    venue: str | None = None
    publisher: str | None = None
    year: int | None = None
    volume: str | None = None
    issue: str | None = None
    first_page: str | None = None
    last_page: str | None = None
    ids: Ids = Ids()
    ids_weak: Ids = Ids()
    inferred: Inferred | None = None

    @property
    def raw_query(self) -> str:
        """The citation as written, without its identifiers: the query text of mode Raw."""
        return self.raw_text if self.raw_noid is None else self.raw_noid


#: The relation of a paper to another one. ``companion`` stands for every relation that is not in this list.
Relation = Literal[
    "corrects", "corrected-by", "retracts", "retracted-by", "concerns", "concern-by", "preprint-of", "has-preprint",
    "version-of", "has-version", "comments-on", "commented-by", "reviews", "reviewed-by", "companion",
]  # fmt: skip


class Related(Entity):
    """Another article to which a paper declares a relation, e.g. the one it corrects. ``stated`` is the paper's own term."""

    kind: Relation
    ids: Ids
    stated: str | None = None


class Work(Entity):
    """A possible target of a reference.

    ``translated_titles``: its titles in other languages. ``authors``: last names and names of groups; ``collectives`` lists the
    groups. ``venue_abbreviations``: other names of its venue. ``year``: of print, else of the first publication;
    ``online_year``: of the publication online, if it differs. ``fpage`` is the article number if there are no pages. ``type``:
    a name of Crossref's list of types ("journal-article", "book-chapter", "posted-content" for a preprint). ``language``: ISO
    639-1 code, ISO 639-3 for languages without one. ``status``: ``retracted``, …
    """

    id: str
    ids: Ids = Ids()
    title: str | None = None
    translated_titles: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    collectives: tuple[str, ...] = ()
    venue: str | None = None
    venue_abbreviations: tuple[str, ...] = ()
    issns: tuple[str, ...] = ()
    year: int | None = None
    online_year: int | None = None
    volume: str | None = None
    issue: str | None = None
    fpage: str | None = None
    lpage: str | None = None
    type: str | None = None
    language: str | None = None
    related: tuple[Related, ...] = ()
    status: str | None = None

    @property
    def last_names(self) -> tuple[str, ...]:
        """The authors' last names, under the name that representative texts use."""
        return self.authors


#: The status that a relation gives the paper as a target, most serious first.
_STATUS: Final[dict[Relation, str]] = {"retracted-by": "retracted", "concern-by": "concern"}


class Paper(Entity):
    """One parsed article: its own metadata and its references, in the order of its bibliography.

    ``authors`` are last names and names of groups; ``given_names`` has one entry for each (empty if unknown), and
    ``collectives`` lists the groups. ``translated_titles`` are in the order of the article. ``fpage`` is the article number if
    there are no pages. ``unread``: number of citations without tags whose fields were not recognised, because the paper has too
    many of them. ``warnings`` describe this, and content that was guessed or lost because the XML was broken.
    """

    id: str
    ids: Ids = Ids()
    publisher_id: str | None = None
    title: str | None = None
    translated_titles: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    given_names: tuple[str, ...] = ()
    collectives: tuple[str, ...] = ()
    venue: str | None = None
    venue_abbreviations: tuple[str, ...] = ()
    issns: tuple[str, ...] = ()
    publisher: str | None = None
    year: int | None = None
    volume: str | None = None
    issue: str | None = None
    fpage: str | None = None
    lpage: str | None = None
    related: tuple[Related, ...] = ()
    abstract: str | None = None
    language: str | None = None
    article_type: str | None = None
    references: tuple[Reference, ...] = ()
    unread: int = 0
    warnings: tuple[str, ...] = ()

    def work(self) -> Work:
        """Return the paper as a target of other papers' references, with the status that its own relations give it."""
        kinds = {related.kind for related in self.related}
        status = next((_STATUS[kind] for kind in _STATUS if kind in kinds), None)
        shared = Work.model_fields.keys() & Paper.model_fields.keys()
        return Work(**{name: getattr(self, name) for name in Work.model_fields if name in shared}, status=status)


class Candidate(Entity):
    """A work that a stage proposed, with that stage's score (cosine, or s = 2JC/(J+C)) and the verdict's probability."""

    cited: str
    score: float
    probability: float | None = None


class RelatedWork(Entity):
    """A work of the catalog, by canonical id, and its relation to the cited work: "``work`` ``relation`` the cited work"."""

    work: str
    relation: VersionRelation


class Link(Entity):
    """The outcome of one reference: ``cited`` is the id of a work, or None with the reason in ``unresolved``.

    ``probability`` is the verdict's, absent in profile ``paper``. ``reasons`` are phrases of a fixed vocabulary for and
    against the link, strongest first; ``evidence`` holds the numbers behind them (docs/accuracy.md), of the cited work or,
    without a link, of the best candidate, ``runner_up``. ``status`` is the status of the cited work, e.g. ``retracted``.
    ``related`` is another version of the cited work, where the best candidate is one: without a link with ``unresolved``
    ``other-version``, or linked in place of the cited work (`Policy.versions`).
    """

    reference: str
    citing: str
    cited: str | None
    method: Method | None = None
    score: float | None = None
    probability: float | None = None
    unresolved: Unresolved | None = None
    reasons: tuple[str, ...] = ()
    evidence: dict[str, float] = {}  # noqa: RUF012 - pydantic copies the default
    runner_up: Candidate | None = None
    status: str | None = None
    related: RelatedWork | None = None

    def __hash__(self) -> int:
        """Hash the fields that identify the outcome, since ``evidence`` is not hashable."""
        return hash((self.reference, self.citing, self.cited, self.method, self.score, self.probability))
