"""The exact lexical search of a segment on a CPU: ``searching`` with bitmaps, ``counting`` without, ``plain`` in numpy."""
