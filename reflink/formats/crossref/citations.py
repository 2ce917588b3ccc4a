"""A citation of Crossref's metadata, in JSON or XML: the same fields under two sets of names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reflink.bibliography.citation import Citation, described
from reflink.entities import Ids
from reflink.formats.records import names, year_in
from reflink.identifiers import NO_IDS, normalise_doi
from reflink.names import divided, is_group
from reflink.sources import values
from reflink.sources.markup import plain
from reflink.sources.pages import first_and_last

#: Who may assert the DOI of a reference. A value that is absent, or unknown, is the publisher's.
_CROSSREF = "crossref"


def citation(fields: Mapping[str, Any]) -> Citation | None:
    """Return a citation from its fields, by the names of the JSON of works; None if it is empty.

    A DOI that the publisher deposited is one of ``ids``. A DOI that Crossref found by matching is not the publisher's word, and
    may be wrong: it is one of ``ids_weak``, as an identifier that was found in text, unless the text has a DOI of its own. If
    the reference has nothing else, it is one of ``ids``.
    """
    title = values.text(fields.get("article-title"))
    volume_title, series = values.text(fields.get("volume-title")), values.text(fields.get("series-title"))
    hosts = [each for each in (values.text(fields.get("journal-title")), volume_title, series) if each]
    if title is None and volume_title is not None and hosts[0] == volume_title:  # a book
        title, hosts = volume_title, hosts[1:]
    first, last = first_and_last(values.short(fields.get("first-page")) or "")
    described_by: Citation = {
        "kind": values.short(fields.get("type")),
        **_authors(values.short(fields.get("author"))),
        "title": title,
        "venue": hosts[0] if hosts else None,
        "year": year_in(str(fields.get("year") or "")),
        "volume": values.short(fields.get("volume")),
        "issue": values.short(fields.get("issue")),
        "first_page": first or values.short(fields.get("elocation-id")),
        "last_page": last,
    }
    doi = fields.get("DOI")
    known = normalise_doi(doi[: values.MAX_SHORT]) if type(doi) is str else None
    matched = fields.get("doi-asserted-by") == _CROSSREF
    text = fields.get("unstructured")
    found = described(
        plain(text) if type(text) is str else "", described_by, None if matched or not known else values.ids(known)
    )
    if not matched or not known:
        return found
    if found is None:  # the match is all that is known of the reference
        return described("", {}, values.ids(known))
    found["ids_weak"] = Ids.made({**_stated(values.ids(known)), **_stated(found.get("ids_weak", NO_IDS))})
    return found


def _stated(ids: Ids) -> dict[str, str]:
    return {kind: value for kind, value in ids if value}


def _authors(first_author: str | None) -> dict[str, Any]:
    """Return the fields of the first author, the only one that Crossref keeps."""
    if first_author is None:
        return {}
    if is_group(first_author):
        return names([(first_author, "", True)])
    last, given = divided(first_author)
    return names([(last, given, False)]) if last else {}
