"""The adapter's last log lines, kept for the table instead of running through it."""

import logging
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

SHOWN = ("object", "reason", "detail", "why", "error")  # the fields worth a place in a line of the demo


class Tail(logging.Handler):
    """The last `keep` lines from WARNING on, each once."""

    def __init__(self, keep: int = 3) -> None:
        super().__init__(logging.WARNING)
        self._lines: deque[str] = deque(maxlen=keep)

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self._lines)

    def emit(self, record: logging.LogRecord) -> None:
        fields: Mapping[str, object] = getattr(record, "fields", {})
        words = [record.getMessage(), *(str(fields[name]) for name in SHOWN if name in fields)]
        line = " ".join(words).replace("\n", " ")
        if line not in self._lines:
            self._lines.append(line)


@contextmanager
def tailed(tail: logging.Handler) -> Iterator[None]:
    """All logging goes to `tail` alone while the context lasts."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = [tail]
    root.setLevel(tail.level)
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
