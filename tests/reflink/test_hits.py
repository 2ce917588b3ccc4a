import numpy as np

from reflink.hits import Hits


def test_rows_are_padded_with_none_and_nan() -> None:
    hits = Hits.collect([(["b", "a"], [0.5, 0.25]), ([], [])], 3, 2, np.float32)
    assert hits.ids.tolist() == [["b", "a"], [None, None], [None, None]]
    assert hits.scores.dtype == np.float32
    assert hits.scores[0].tolist() == [0.5, 0.25]
    assert np.isnan(hits.scores[1:]).all()


def test_iteration_omits_absent_hits() -> None:
    hits = Hits.collect([(["b"], [0.5]), ([], [])], 2, 2, np.float64)
    assert len(hits) == 2
    assert list(hits) == [[("b", 0.5)], []]
