"""Fuzzing of the JATS parser: broken, hostile and strange articles. ``python -m tests.fuzz --help`` says how.

`seeds` cuts real articles to size, `mutations` breaks them, `checks` is the oracle with `plain` as its second reading,
`campaign` runs millions of them in several processes, `guided` lets atheris look for new paths.
"""
