"""Awkward records for hypothesis: missing, odd, long or wrongly decoded fields."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from reflink.entities import Ids, Reference, Work

#: Few letters, so that both sides agree often: accents, Greek, deleted characters, punctuation, wrongly decoded letters,
#: several letters in one, digits of other scripts, beyond the basic plane, separators, lone surrogates.
ALPHABET = "abe iIvX12xX'`’-.:;([)ßöØαÃ¶Â½²٣۴①ﷺ㎂漢字가ΰ\t\0\1\x1f\u00a0\u200b𝐀𝟙\U00020000\ud800"
text = st.text(alphabet=ALPHABET, max_size=30)
word = st.sampled_from(
    "Reply reply response to on Comment comments Erratum: Data from data executive summary type ii Part A, part IV) II. I: X. "
    "2nd 3rd Smith Müller mueller Lee Meier Maier van der 2009 2010, 2009;33:12 12 e7 cd001234 33 (1) [correction appears in a "
    "later issue] Journal J Natl national NIPS Neural Information Processing Systems of the ÃƒÂ¶ MÃ¼ller".split()
)
phrase = st.lists(word, max_size=9).map(" ".join)
long = st.integers(380, 420).map(lambda n: "wheat and barley " * (n // 17) + "II 1999")
field = st.none() | text | phrase | long
year = st.none() | st.integers(2005, 2012) | st.just(0)
short = (
    st.none()
    | st.sampled_from(
        ["12", "XII", "Vol. 12", "e12", "S12", "012", " ", "xii", "S012-19", "cd001234", "suppl a", "1", "000", "½"]
    )
    | text
)
name = st.sampled_from(
    ["Smith", "Smyth", "Schmidt-Meier", "Meier", "Maier", "van der Berg", "Li", "Müller", "Mueller", "Johannson", "Johanson",
     "", "de", "World Health Organization", "Jonahson", "O'Neill", "Hernández García", "García Hernández"]
)  # fmt: skip
names = st.lists(name | text, max_size=5).map(tuple) | st.integers(38, 45).map(
    lambda n: tuple(f"Author{i:02}x" for i in range(n))
)
ids = st.builds(Ids, doi=st.none() | st.sampled_from(["10.1/a", "10.1/b"]), pmid=st.none() | st.sampled_from(["1", "2"]))


@st.composite
def pools(draw: st.DrawFn) -> tuple[list[Reference], list[Work]]:
    """Return references and works with fields from few values, so that many agree."""
    of: dict[str, list[Any]] = {
        "title": draw(st.lists(field, min_size=1, max_size=3)),
        "venue": draw(st.lists(st.none() | phrase | text, min_size=1, max_size=2)),
        "names": draw(st.lists(names, min_size=1, max_size=2)),
        "short": draw(st.lists(short, min_size=1, max_size=3)),
        "year": draw(st.lists(year, min_size=1, max_size=2)),
    }

    def one(key: str) -> Any:
        return draw(st.sampled_from(of[key]))

    works = [
        Work.made(
            {"id": f"w{n}", "ids": draw(ids), "title": one("title"), "authors": one("names"), "venue": one("venue"),
             "year": one("year"), "volume": one("short"), "fpage": one("short")}
        )
        for n in range(draw(st.integers(1, 3)))
    ]  # fmt: skip
    references = []
    for n in range(draw(st.integers(1, 3))):
        parts = [part for part in (one("title"), *one("names"), one("venue"), draw(phrase), one("short"), one("short")) if part]
        raw = " ".join(parts) * draw(st.sampled_from([1, 1, 1, 20])) if draw(st.booleans()) else ""
        tagged: dict[str, Any] = {}
        if draw(st.booleans()):
            tagged = {
                "title": one("title"), "chapter_title": one("title"), "last_names": one("names"), "venue": one("venue"),
                "year": one("year"), "volume": one("short"), "first_page": one("short"),
                "collectives": draw(st.sampled_from([(), ("A Group",)])),
            }  # fmt: skip
        references.append(
            Reference.made(
                {
                    "id": f"c#{n}",
                    "citing": "c",
                    "position": n,
                    "raw_text": raw,
                    "raw_noid": draw(st.sampled_from([None, raw])),
                    "ids": draw(ids),
                    "ids_weak": draw(ids),
                    "collab": draw(st.sampled_from([None, "A Group"])),
                    **tagged,
                }
            )
        )
    return references, works
