"""Settings of all tests of the library."""

from hypothesis import settings

# The first call of a compiled kernel takes as long as its compilation: time says nothing about a law.
settings.register_profile("reflink", deadline=None)
settings.load_profile("reflink")
