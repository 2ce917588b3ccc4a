"""Everything that runs on a GPU, checked against the CPU and timed."""
