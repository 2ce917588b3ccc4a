"""Link references in bulk on Apache Spark, beside the pipeline and with the pipeline's decisions: ``reflink-spark``.

- ``records``: the rows and keys of works and references; ``statements``: the joins in SQL; ``components``: canonical ids
- ``joined_catalog`` and ``deciding``: the verdict on a batch of joined rows, and on the references that keys leave open
- ``reading`` and ``job``: the tables of a run, step by step; ``session`` and ``command``: Spark, and the command line
"""
