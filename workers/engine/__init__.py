"""Candidates from OpenSearch or Elasticsearch: the index of works, its updates, and searches in it.

- ``client``: requests and their errors; ``index``: the index, its alias and its watermark
- ``documents``: a work as a document; ``queries``: a reference as a query
- ``candidates``: the source of candidates for linker and fallback; ``indexer``: the worker that brings works into the index
"""
