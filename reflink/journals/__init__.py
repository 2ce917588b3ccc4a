"""Journals: which names mean the same journal.

- ``names``: names as they are compared; ``table``: journals by name; ``building``: a table from lists and works
- ``lists``: the files of journals that NLM and Crossref publish
"""
