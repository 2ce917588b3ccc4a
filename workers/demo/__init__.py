"""``reflink-worker demo``: the whole pipeline on one machine, from papers to links that change."""
