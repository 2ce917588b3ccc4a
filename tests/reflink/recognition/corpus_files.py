"""Small files in the formats of AnyStyle and of grobid."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

ANYSTYLE = """<dataset><sequence><author>Abe, B., &amp; Chen, C.</author><date>(1999).</date><title>Plants [J].</title>
<editor>In D. Dent (Ed.),</editor><container-title>In: Flora of the Alps</container-title><volume>(Vol. 3,</volume>
<pages>pp. 12–19).</pages><location>Rome:</location><publisher>Press.</publisher><doi>doi:10.1000/xyz</doi></sequence>
<sequence><title>x</title></sequence></dataset>"""
TEI = """<TEI><text><listBibl>
<bibl><author>B. Abe</author>, <title level="a">Plants of<lb/> Rome</title>, <title level="j">J. Ecol.</title>
<biblScope unit="volume">92</biblScope>(<biblScope unit="issue">1</biblScope>), <biblScope unit="page">12-19</biblScope>
(<date>2004a</date>)</bibl>
<bibl><author>B. Abe</author>, <title level="m">Flora</title>, <pubPlace>Rome</pubPlace>, <date>2004</date></bibl>
<bibl><author>B. Abe</author>, in <title level="m">Flora</title>, <pubPlace>Rome</pubPlace>, <date>2004</date></bibl>
</listBibl></text></TEI>"""


def archive(folder: Path, **files: str) -> Path:
    path = folder / "corpus.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(f"corpus/{name}.training.tei.xml")
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


def anystyle_file(folder: Path) -> Path:
    path = folder / "core.xml.gz"
    path.write_bytes(gzip.compress(ANYSTYLE.encode()))
    return path
