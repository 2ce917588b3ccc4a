"""Made-up records of Crossref, OpenAlex, DataCite and Semantic Scholar, with fields and sizes as in real ones.

A record has every field that the published schemas name and real records have, also those that reflink does not read, since a
parser pays for them: reference lists (half of Crossref's records, 35 entries on average), affiliations, licences, links,
inverted abstracts, concepts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from benchmarks.sources.maker import Maker

Record = dict[str, Any]


def crossref(make: Maker, number: int) -> Record:
    random, doi, year = make.random, make.doi(number), 1990 + number % 35
    date = {"date-parts": [[year, 1 + number % 12, 1 + number % 28]]}
    stamp = {**date, "date-time": f"{year}-01-01T00:00:00Z", "timestamp": 1_600_000_000_000 + number}
    journal = make.words(4).title()
    authors = [make.name() for _ in range(1 + len(make.many(3.5)))]
    references = [
        {
            "key": f"{doi}_ref{at}",
            "doi-asserted-by": "publisher",
            "DOI": make.doi(random.randrange(10**7)),
            "author": make.name()[1],
            "article-title": make.words(10),
            "journal-title": make.words(3),
            "volume": str(random.randrange(200)),
            "first-page": str(random.randrange(2000)),
            "year": str(year - random.randrange(20)),
        }
        for at in (make.many(35) if number % 2 else ())
    ]
    return {
        "indexed": {**stamp, "version": "3.50.1"},
        "reference-count": len(references),
        "publisher": make.words(3),
        "issue": str(number % 12),
        "license": [
            {"start": stamp, "content-version": "tdm", "delay-in-days": 0, "URL": "https://publisher.example/tdm/1.0/"}
        ],
        "content-domain": {"domain": ["publisher.example"], "crossmark-restriction": True},
        "short-container-title": [journal[:12]],
        "published-print": date,
        "DOI": doi,
        "type": "journal-article",
        "created": stamp,
        "page": f"{number % 900 + 1}-{number % 900 + 9}",
        "source": "Crossref",
        "is-referenced-by-count": number % 50,
        "title": [make.words(11) + (" <i>in vitro</i> &amp; more" if number % 10 == 0 else "")],
        "prefix": doi.split("/")[0],
        "volume": str(number % 300),
        "author": [
            {
                "ORCID": f"https://orcid.org/0000-0001-{number % 10000:04}-{at:04}",
                "authenticated-orcid": False,
                "given": given,
                "family": family,
                "sequence": "additional" if at else "first",
                "affiliation": [{"name": make.words(8)}],
            }
            for at, (given, family) in enumerate(authors)
        ],
        "member": "78",
        "published-online": date,
        "reference": references,
        "container-title": [journal],
        "original-title": [],
        "abstract": f"<jats:p>{make.words(150)}</jats:p>" if number % 3 == 0 else "",
        "language": "en",
        "link": [
            {
                "URL": f"https://publisher.example/{doi}?httpAccept=text/{kind}",
                "content-type": f"text/{kind}",
                "content-version": "vor",
                "intended-application": "text-mining",
            }
            for kind in ("xml", "plain")
        ],
        "deposited": stamp,
        "score": 0.0,
        "resource": {"primary": {"URL": f"https://publisher.example/{doi}"}},
        "subtitle": [],
        "issued": date,
        "references-count": len(references),
        "journal-issue": {"issue": str(number % 12)},
        "alternative-id": [f"S{number:012}"],
        "URL": f"https://doi.org/{doi}",
        "relation": {},
        "ISSN": ["1234-5679", "2041-1723"],
        "issn-type": [{"value": "1234-5679", "type": "print"}, {"value": "2041-1723", "type": "electronic"}],
        "published": date,
        "assertion": [{"value": make.words(6), "name": "articletitle", "label": "Article Title"}] if number % 4 == 0 else [],
    }


def openalex(make: Maker, number: int) -> Record:
    random, doi, year = make.random, f"https://doi.org/{make.doi(number)}", 1990 + number % 35
    words = make.words(150).split()
    title = make.words(11)
    source = {
        "id": f"https://openalex.org/S{number % 20000}",
        "display_name": make.vocabulary[number % 4000].title(),
        "issn_l": "1234-5679",
        "issn": ["1234-5679", "2041-1723"],
        "is_oa": False,
        "is_in_doaj": False,
        "host_organization": "https://openalex.org/P4310320",
        "host_organization_name": "Publisher",
        "host_organization_lineage": ["https://openalex.org/P4310320"],
        "type": "journal",
    }
    location = {"is_oa": False, "landing_page_url": doi, "pdf_url": None, "source": source, "license": None, "version": None}
    inverted: dict[str, list[int]] = {}
    for at, word in enumerate(words if number % 5 < 3 else ()):
        inverted.setdefault(word, []).append(at)
    topics = [
        {
            "id": f"https://openalex.org/T{at}",
            "display_name": make.words(4),
            "score": 0.99,
            "subfield": {"id": 1, "display_name": make.words(2)},
            "field": {"id": 2, "display_name": make.words(1)},
        }
        for at in range(3)
    ]
    return {
        "id": f"https://openalex.org/W{number + 1}",
        "doi": doi,
        "title": title,
        "display_name": title,
        "publication_year": year,
        "publication_date": f"{year}-05-01",
        "ids": {
            "openalex": f"https://openalex.org/W{number + 1}",
            "doi": doi,
            "pmid": f"https://pubmed.ncbi.nlm.nih.gov/{number + 1}",
        },
        "language": "en",
        "primary_location": location,
        "type": "article",
        "type_crossref": "journal-article",
        "open_access": {"is_oa": False, "oa_status": "closed", "oa_url": None},
        "authorships": [
            {
                "author_position": "middle",
                "author": {"id": f"https://openalex.org/A{number}{at}", "display_name": name, "orcid": None},
                "institutions": [
                    {
                        "id": f"https://openalex.org/I{at}",
                        "display_name": make.words(4),
                        "ror": "https://ror.org/0example",
                        "country_code": "US",
                        "type": "education",
                        "lineage": [f"https://openalex.org/I{at}"],
                    }
                ],
                "countries": ["US"],
                "is_corresponding": False,
                "raw_author_name": name,
                "raw_affiliation_strings": [make.words(9)],
            }
            for at in range(1 + len(make.many(3.5)))
            for name in (" ".join(make.name()),)
        ],
        "biblio": {
            "volume": str(number % 300),
            "issue": "2",
            "first_page": str(number % 900),
            "last_page": str(number % 900 + 8),
        },
        "is_retracted": False,
        "is_paratext": False,
        "primary_topic": topics[0],
        "topics": topics,
        "concepts": [
            {
                "id": f"https://openalex.org/C{at}",
                "wikidata": f"https://www.wikidata.org/wiki/Q{at}",
                "display_name": make.words(2),
                "level": at % 5,
                "score": 0.5,
            }
            for at in range(12)
        ],
        "locations_count": 1,
        "locations": [location],
        "referenced_works": [f"https://openalex.org/W{random.randrange(10**9)}" for _ in make.many(15)],
        "related_works": [f"https://openalex.org/W{random.randrange(10**9)}" for _ in range(10)],
        "abstract_inverted_index": inverted,
        "counts_by_year": [{"year": 2020 + at, "cited_by_count": at} for at in range(4)],
        "cited_by_count": number % 50,
        "updated_date": f"2026-06-2{number % 9}T01:02:03.456789",
        "created_date": "2016-06-24",
    }


def datacite(make: Maker, number: int) -> Record:
    doi, year = make.doi(number), 1990 + number % 35
    people = [make.name() for _ in range(1 + len(make.many(2.5)))]
    return {
        "id": doi,
        "type": "dois",
        "attributes": {
            "doi": doi,
            "identifiers": [],
            "creators": [
                {
                    "name": f"{family}, {given}",
                    "nameType": "Personal",
                    "givenName": given,
                    "familyName": family,
                    "affiliation": [],
                    "nameIdentifiers": [],
                }
                for given, family in people
            ],
            "titles": [{"title": make.words(10)}],
            "publisher": "Repository",
            "container": {},
            "publicationYear": year,
            "subjects": [{"subject": make.words(2)} for _ in range(4)],
            "contributors": [],
            "dates": [{"date": f"{year}-01-02", "dateType": "Issued"}],
            "language": "en",
            "types": {
                "ris": "RPRT",
                "bibtex": "article",
                "citeproc": "article-journal",
                "schemaOrg": "ScholarlyArticle",
                "resourceType": "Preprint",
                "resourceTypeGeneral": "Preprint",
            },
            "relatedIdentifiers": [
                {"relationType": "References", "relatedIdentifier": make.doi(at), "relatedIdentifierType": "DOI"}
                for at in make.many(3)
            ],
            "version": None,
            "rightsList": [{"rights": make.words(4), "rightsUri": "https://cc.example"}],
            "descriptions": [{"description": make.words(150), "descriptionType": "Abstract"}],
            "url": f"https://repository.example/{doi}",
            "contentUrl": None,
            "metadataVersion": 1,
            "schemaVersion": "http://datacite.org/schema/kernel-4",
            "source": "api",
            "isActive": True,
            "state": "findable",
            "created": "2019-09-09T13:26:25.000Z",
            "registered": "2019-09-09T13:26:26.000Z",
            "updated": "2021-02-03T04:05:06.000Z",
        },
        "relationships": {"client": {"data": {"id": "x.y", "type": "clients"}}},
    }


def s2(make: Maker, number: int) -> Record:
    doi, year = make.doi(number), 1990 + number % 35
    return {
        "corpusid": number + 1,
        "externalids": {
            "ACL": None,
            "DBLP": None,
            "ArXiv": None,
            "MAG": str(number),
            "CorpusId": str(number + 1),
            "PubMed": str(number + 1),
            "DOI": doi,
            "PubMedCentral": None,
        },
        "url": f"https://www.semanticscholar.org/paper/{number:040}",
        "title": make.words(11),
        "authors": [{"authorId": str(at), "name": " ".join(make.name())} for at in range(1 + len(make.many(3.5)))],
        "venue": make.words(3),
        "publicationvenueid": None,
        "year": year,
        "referencecount": 3,
        "citationcount": 4,
        "influentialcitationcount": 0,
        "isopenaccess": False,
        "s2fieldsofstudy": [{"category": "Medicine", "source": "external"}],
        "publicationtypes": ["JournalArticle"],
        "publicationdate": f"{year}-05-01",
        "journal": {"name": make.words(3), "pages": "1-9", "volume": str(number % 300)},
    }


MOULDS: Final[dict[str, Callable[[Maker, int], Record]]] = {
    "crossref": crossref,
    "openalex": openalex,
    "datacite": datacite,
    "s2": s2,
}
