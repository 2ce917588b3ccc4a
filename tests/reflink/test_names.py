import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.names import divided
from reflink.subtitles import joined


@pytest.mark.parametrize(
    ("name", "last", "given_name"),
    [
        ("Wang, Xiao", "Wang", "Xiao"),
        ("Wang XY", "Wang", "XY"),
        ("Christine M. Beckman", "Beckman", "Christine M."),
        ("Ludwig van der Berg", "van der Berg", "Ludwig"),
        ("Martin Luther King Jr.", "King", "Martin Luther"),
        ("Suharto", "Suharto", ""),
        ("", "", ""),
    ],
)
def test_a_name_is_divided(name, last, given_name):
    assert divided(name) == (last, given_name)


@given(st.text(max_size=60))
def test_any_text_gives_a_last_name_unless_it_is_blank(text):
    last, _ = divided(text)
    assert bool(last) or not text.strip(" ,") or not text.split(",")[0].strip()


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        (["MEGA7", "molecular evolution"], "MEGA7: molecular evolution"),
        (["What now?", "A survey"], "What now? A survey"),
        (["Graphs", "(second edition)"], "Graphs (second edition)"),
        (["", "Alone"], "Alone"),
        ([], ""),
    ],
)
def test_a_title_and_its_subtitles_are_one_line(parts, line):
    assert joined(parts) == line
