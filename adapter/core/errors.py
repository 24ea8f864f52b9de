"""One tree for everything that can go wrong.

    AdapterError
    ├── ConfigError        our configuration cannot be used: every fault at once, each with path and line
    ├── UndatableQuery     a PromQL query whose inputs' ages cannot be known
    ├── SelectorError      a label selector in a request does not parse
    └── SourceError        a page or a query could not be read; shows as age, never as a client's error

Foreign exceptions are turned into these at the rim, each at one place. Any other exception is a bug.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

SourceErrorKind = Literal[
    "connect", "timeout", "tls", "status", "redirect", "too_large", "malformed", "empty", "partial"
]


class AdapterError(Exception):
    """The root; never raised itself."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing wrong in a configuration file.

    `line` counts from 1 (0: the file as a whole); `path` is the key's way from the top, as in
    `metrics[2].freshness.maxAge`; `text` says what is wrong, why, and what to write instead.
    """

    line: int
    path: str
    text: str

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.path}: {self.text}" if self.path else f"{where}{self.text}"


class ConfigError(AdapterError):
    """The configuration is refused as a whole; `faults` holds everything found, in the file's order."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(sorted(faults))
        super().__init__("\n".join(map(str, self.faults)))


class UndatableQuery(AdapterError):
    """`construct` is the part of the query that hides its inputs' age; `remedy` is what the user can write instead."""

    def __init__(self, query: str, construct: str, why: str, remedy: str) -> None:
        self.query, self.construct, self.why, self.remedy = query, construct, why, remedy
        super().__init__(f"the age of `{construct}` cannot be known: {why}; {remedy}")


class SelectorError(AdapterError):
    """A label selector that Kubernetes would not parse; the message is worded as Kubernetes words it."""


class SourceError(AdapterError):
    """A look or a query that gave nothing. `kind` is a closed word for counters; the message names no secret."""

    def __init__(self, kind: SourceErrorKind, message: str) -> None:
        self.kind: SourceErrorKind = kind
        super().__init__(message)
