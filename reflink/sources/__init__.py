"""Readers of the sources of catalogs: dumps, update files and exports of bibliographic databases.

Each source is one class of the contract in `reflink.sources.source`. Its core is a pure function from a record to a
`SourceRecord`; the class finds the files of the source, and reads their records.
"""
