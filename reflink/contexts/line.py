"""Text that grows piece by piece into one line, and the spans of parts of it."""

from __future__ import annotations


class Line:
    """Text with white space collapsed as it is added; ``length`` is the number of characters so far."""

    def __init__(self) -> None:
        self.length = 0
        self._pieces: list[str] = []
        self._space = False

    def __str__(self) -> str:
        return "".join(self._pieces)

    def add(self, text: str) -> None:
        """Append a text. White space around it counts; at the ends of the line it does not."""
        if not text:
            return
        words = " ".join(text.split())
        if not words:
            self.space()
            return
        if (self._space or text[0].isspace()) and self.length:
            self._pieces.append(" ")
            self.length += 1
        self._pieces.append(words)
        self.length += len(words)
        self._space = text[-1].isspace()

    def space(self) -> None:
        """Separate the next text from the present one."""
        self._space = self.length > 0

    def mark(self) -> tuple[int, int]:
        """Return a mark of the present place, for `span`."""
        return self.length, len(self._pieces)

    def span(self, mark: tuple[int, int]) -> tuple[int, int]:
        """Return the span of the text that was added since ``mark``, without white space at its ends."""
        start, at = mark
        if at < len(self._pieces) and self._pieces[at] == " ":
            start += 1
        return start, self.length
