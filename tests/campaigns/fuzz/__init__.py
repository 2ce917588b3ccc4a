"""Fuzzing of the JATS parser with broken, hostile and strange articles. Usage: ``python -m tests.campaigns.fuzz --help``.

`seeds` cuts real articles into small ones, `mutations` breaks them, `checks` is the oracle, `plain` its independent second
reading, `campaign` runs millions of inputs in several processes, and `guided` uses atheris to find new paths.
"""
