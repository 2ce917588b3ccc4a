"""The joins of a backfill as statements of standard SQL, which Spark executes, and SQLite in tests.

Tables of the input:

- ``works`` (id, record): each id once; ``bearers`` (key, id): the keys that works bear, each pair once; ``places`` (key, id):
  their locators
- ``cites`` (reference, key, own): identifiers of references, and with ``own`` 1 the ids of their citing papers;
  ``cited_places`` (reference, key): their locators

Texts are compared by their bytes in UTF-8, which is the order of Python's strings.
"""

from __future__ import annotations

from typing import Final

from reflink.blocking.locators import BY_YEAR, MAX_SHARING

#: → (key, id): the keys that several works bear.
SHARED: Final = """
SELECT key, id FROM (SELECT key, id, COUNT(*) OVER (PARTITION BY key) AS works FROM bearers) AS counted WHERE works > 1
"""

#: From ``shared``, the result of SHARED → (id, label): the first labels of the works that share a key, their ids.
FIRST_LABELS: Final = "SELECT DISTINCT id, id AS label FROM shared"

#: From ``shared`` and ``labels`` → (id, label): the smallest label among the works with which each work shares a key.
NEIGHBOURS: Final = """
SELECT shared.id AS id, MIN(smallest.label) AS label
FROM shared
JOIN (SELECT shared.key AS key, MIN(labels.label) AS label FROM shared JOIN labels ON labels.id = shared.id GROUP BY shared.key)
  AS smallest ON smallest.key = shared.key
GROUP BY shared.id
"""

#: From ``nearer``, the result of NEIGHBOURS → (id, label): the label of the work that is a work's label. It halves a path.
SHORTCUT: Final = """
SELECT nearer.id AS id, further.label AS label FROM nearer JOIN nearer AS further ON further.id = nearer.label
"""

#: From ``labels`` and ``renewed``, the result of SHORTCUT → the number of works with a new label.
CHANGED: Final = """
SELECT COUNT(*) FROM labels JOIN renewed ON renewed.id = labels.id WHERE renewed.label <> labels.label
"""

#: From ``labels``, which are the canonical ids when they no longer change → (reference, key, id, own): the canonical id of the
#: works that bear a key of a reference.
IDENTIFIED: Final = """
SELECT cites.reference AS reference, cites.key AS key, named.id AS id, cites.own AS own
FROM cites
JOIN (SELECT bearers.key AS key, MIN(COALESCE(labels.label, bearers.id)) AS id
      FROM bearers LEFT JOIN labels ON labels.id = bearers.id GROUP BY bearers.key) AS named ON named.key = cites.key
"""

#: → (reference, id, by_year): the works with a locator of a reference. ``by_year`` 1: only with the locator without the author.
#: Locators that more than MAX_SHARING works share are ignored.
PLACED: Final = f"""
SELECT cited_places.reference AS reference, selective.id AS id,
  MIN(CASE WHEN selective.key LIKE '{BY_YEAR}%' THEN 1 ELSE 0 END) AS by_year
FROM cited_places
JOIN (SELECT key, id FROM (SELECT key, id, COUNT(*) OVER (PARTITION BY key) AS works FROM places) AS counted
      WHERE works <= {MAX_SHARING}) AS selective ON selective.key = cited_places.key
GROUP BY cited_places.reference, selective.id
"""

#: From ``identified``, ``placed``, ``works`` and ``labels`` → (reference, key, id, canonical, by_year, record): what a verdict
#: needs of a reference. Rows with a key name the canonical id of its bearers. The other rows are candidates with their records;
#: ``by_year`` is NULL for those that only an identifier proposes.
FOUND: Final = """
SELECT reference, key, NULL AS id, id AS canonical, NULL AS by_year, NULL AS record
FROM identified
UNION ALL
SELECT hits.reference, NULL, works.id, COALESCE(labels.label, works.id), hits.by_year, works.record
FROM (SELECT reference, id, MAX(by_year) AS by_year
      FROM (SELECT reference, id, NULL AS by_year FROM identified WHERE own = 0
            UNION ALL SELECT reference, id, by_year FROM placed) AS proposed
      GROUP BY reference, id) AS hits
JOIN works ON works.id = hits.id
LEFT JOIN labels ON labels.id = works.id
"""
