"""Paper, Reference, Work and Link: what reflink reads, compares and answers. Defined here once.

They are pydantic models: immutable, validated where data enters, and tolerant of fields they do not know (kept and passed
on, so that an old reader does not drop what a newer writer said). What is missing is absent from their JSON.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, Literal, Self, cast

import pydantic
from pydantic import BaseModel, ConfigDict

from reflink.errors import BadRecord

#: What proposed the linked work: an identifier, where it was printed (volume, first page, author or year), a search, a curator.
Method = Literal["identifier", "place", "semantic", "lexical", "curator"]

#: Why a reference has no link. ``empty``: nothing to search by. ``no-candidate``: nothing in the catalog is similar at all.
#: ``below-threshold``: the stage's own score was too low. ``not-in-catalog``: the best candidate is another work.
#: ``withdrawn``: the work that it was linked to has gone, and it is being judged again. ``forbidden``: a curator says so.
Unresolved = Literal["empty", "no-candidate", "below-threshold", "not-in-catalog", "withdrawn", "forbidden"]

#: The identifiers that name a work, in order of preference for its id.
ID_KINDS: Final = ("doi", "pmid", "pmcid", "arxiv")


#: What `Entity.made` says of which fields were given: nothing. Only ``exclude_unset`` asks, which is not used here.
_UNKNOWN: Final[set[str]] = set()


@cache
def _template(entity: type[BaseModel]) -> dict[str, Any]:
    """Every field's default in the order of the contract; what must be given is None."""
    return {name: None if field.is_required() else field.default for name, field in entity.model_fields.items()}


class Entity(BaseModel):
    """Base of everything that is read or published: immutable, keeps unknown fields, absent means default."""

    model_config = ConfigDict(frozen=True, extra="allow")

    @classmethod
    def made(cls, values: dict[str, Any]) -> Self:
        """Of fields by name that the caller vouches for: like ``cls(**values)``, unchecked and so much faster."""
        entity = cls.__new__(cls)
        put = object.__setattr__
        put(entity, "__dict__", {**_template(cls), **values})
        put(entity, "__pydantic_fields_set__", _UNKNOWN)
        put(entity, "__pydantic_extra__", {})
        put(entity, "__pydantic_private__", None)
        return entity

    def to_json(self) -> bytes:
        """UTF-8 JSON without the fields that hold their default."""
        return self.__pydantic_serializer__.to_json(self, exclude_defaults=True)

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-ready builtins."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Reads and validates. Raises BadRecord with the first offending field."""
        try:
            return cast("Self", cls.__pydantic_validator__.validate_json(data))
        except pydantic.ValidationError as error:
            raise bad_record(cls.__name__, error) from None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Validates builtins. Raises BadRecord with the first offending field."""
        try:
            return cast("Self", cls.__pydantic_validator__.validate_python(data))
        except pydantic.ValidationError as error:
            raise bad_record(cls.__name__, error) from None


def bad_record(what: str, error: pydantic.ValidationError) -> BadRecord:
    """One line from pydantic's report: the first offending field and how many more there are."""
    first, more = error.errors(include_url=False, include_input=False)[0], error.error_count() - 1
    field = ".".join(map(str, first["loc"])) or "value"
    return BadRecord(f"{what}: {field}: {first['msg']}" + (f" (and {more} more)" if more else ""))


class Ids(Entity):
    """Normalised: ``doi`` lower case from ``10.``, ``pmid`` digits, ``pmcid`` ``PMC…``, ``arxiv`` without version."""

    doi: str | None = None
    pmid: str | None = None
    pmcid: str | None = None
    arxiv: str | None = None

    def keys(self) -> tuple[str, ...]:
        """``kind:value`` of each identifier present, in order of preference for a work's id."""
        values = ((kind, getattr(self, kind)) for kind in ID_KINDS)
        return tuple(f"{kind}:{value}" for kind, value in values if value)


class Inferred(Entity):
    """What was recognised in a citation that its publisher did not tag; kept apart from what was tagged.

    A field is there only when the recogniser is sure of it.
    """

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
    citation, ``raw_noid`` the same without identifiers (absent when there are none). ``given_names`` has one entry for each of
    ``last_names`` (empty where there is none); ``collectives`` are the authors that are groups, ``collab`` the first of them.
    ``first_page`` is the article's number where it has no pages.
    ``ids`` come from tags, ``ids_weak`` from text; ``inferred`` is there only when nothing was tagged.
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


class Work(Entity):
    """A possible target. ``status`` is absent for a sound work, else what happened to it: ``retracted``, ``concern``, …."""

    id: str
    ids: Ids = Ids()
    title: str | None = None
    authors: tuple[str, ...] = ()
    venue: str | None = None
    year: int | None = None
    volume: str | None = None
    fpage: str | None = None
    status: str | None = None

    @property
    def last_names(self) -> tuple[str, ...]:
        """The authors' last names; the name that representative texts know them by."""
        return self.authors


#: What a paper is to another one. ``companion`` stands for every relation that has no word of its own here.
Relation = Literal[
    "corrects", "corrected-by", "retracts", "retracted-by", "concerns", "concern-by", "preprint-of", "has-preprint",
    "version-of", "has-version", "comments-on", "commented-by", "reviews", "reviewed-by", "companion",
]  # fmt: skip


class Related(Entity):
    """Another article that a paper names as its own affair, e.g. the one that it corrects. ``stated`` is the paper's word."""

    kind: Relation
    ids: Ids
    stated: str | None = None


#: What a relation makes of the paper as a target, the gravest first.
_STATUS: Final[dict[Relation, str]] = {"retracted-by": "retracted", "concern-by": "concern"}


class Paper(Entity):
    """One article as parsed: its own description and its references, in the order of its bibliography.

    ``authors`` are last names and names of groups; ``given_names`` has one entry for each (empty where there is none), and
    ``collectives`` says which are groups. ``translated_titles`` come in the order given. ``fpage`` is the article's number
    where it has no pages. ``warnings`` says what had to be guessed or was lost when the XML was broken.
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
    warnings: tuple[str, ...] = ()

    def work(self) -> Work:
        """The paper as a target for other papers' references, with the status that it says it has."""
        said = {related.kind for related in self.related}
        return Work(
            id=self.id, ids=self.ids, title=self.title, authors=self.authors, venue=self.venue, year=self.year,
            volume=self.volume, fpage=self.fpage, status=next((_STATUS[kind] for kind in _STATUS if kind in said), None),
        )  # fmt: skip


class Candidate(Entity):
    """A work that a stage proposed, with that stage's score (cosine, or s = 2JC/(J+C)) and the verdict's probability."""

    cited: str
    score: float
    probability: float | None = None


class Link(Entity):
    """The outcome of one reference: ``cited`` names a work, or is None and ``unresolved`` says why.

    ``probability`` is the verdict's, absent in profile ``paper``. ``reasons`` are phrases of a fixed vocabulary for and
    against, strongest first; ``evidence`` the numbers behind them (docs/accuracy.md), of the cited work or, where nothing is
    linked, of the best candidate, ``runner_up``. ``status`` repeats the cited work's, e.g. ``retracted``.
    """

    reference: str
    citing: str
    cited: str | None
    method: Method | None = None
    score: float | None = None
    probability: float | None = None
    unresolved: Unresolved | None = None
    reasons: tuple[str, ...] = ()
    evidence: dict[str, float] = {}
    runner_up: Candidate | None = None
    status: str | None = None

    def __hash__(self) -> int:
        """Of what names the outcome; ``evidence`` cannot be hashed."""
        return hash((self.reference, self.citing, self.cited, self.method, self.score, self.probability))
