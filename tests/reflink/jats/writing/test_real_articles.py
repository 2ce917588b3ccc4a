"""Links written into the real articles."""

from __future__ import annotations

from random import Random

import pytest

from reflink.errors import NotAPaper
from tests.data import jats_folder
from tests.reflink.jats.writing.linked import assert_laws, made_links, papers

#: Articles whose recovered text has other tags than their bytes.
_REFUSED = {
    "scielodsm__10.1590_s0034-75901970000300005.xml", "scielodsm__10.1590_s1984-63982010000300005.xml",
}  # fmt: skip


@pytest.mark.parametrize("every", [60, pytest.param(1, marks=[pytest.mark.full, pytest.mark.timeout(900)])])
def test_each_reference_gets_the_identifiers_of_its_work(every: int) -> None:
    """Except those that share a text with others, of which the articles have 10."""
    references = complete = 0
    for path in sorted(jats_folder().glob("*.xml"))[::every]:
        data = path.read_bytes()
        links = made_links(papers(data), Random(path.name))
        if path.name in _REFUSED:
            with pytest.raises(NotAPaper, match="cannot be written: not well-formed"):
                assert_laws(data, links)
            continue
        complete += assert_laws(data, links)
        references += len(links)
    assert references - 20 <= complete <= references
    assert references > 1_000
