"""A page in Prometheus' text format becomes rows of the wanted families.

Law: a line is read alone. A bad row costs itself and is counted; whatever it holds, no other row is read differently.

Pages are not held to the letter where that would cost the rest: families may be declared twice and lie in two places,
and a label given twice counts as first given, since dcgm-exporter writes its own labels before those it passes through
and escapes none of them. Format: Prometheus, "Exposition formats", text format 0.0.4.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from adapter.core.samples import Row

# One pattern for all wanted families: it begins with a literal, so that the engine leaps from line to line, and one
# pass costs no more than a few searches. No part can match in two ways: hostile rows cost linear time.
_ROW: Final = rb"""
    \n [ \t]* (%b) (?![a-zA-Z0-9_:])              # the whole name, at the start of a line
    (?:                                           # a row whose rest does not match is a bad one
        [ \t]* (?: \{ (.*) \} [ \t]* | (?<=[ \t]) )   # no brace can follow the labels, so the last one closes them
        (
            [+-]? (?: (?: [0-9]+ (?:\.[0-9]*)? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? | (?i:inf(?:inity)?|nan) )
        )
        (?: [ \t]+ ([+-]?[0-9]{1,19}) )?          # milliseconds, an int64
        [ \t]* \r? (?= \n | \Z )
    )?
"""
_LABEL: Final = re.compile(
    r"""[ \t]* ([a-zA-Z_][a-zA-Z0-9_]*) [ \t]* = [ \t]* " ([^"\\]* (?:\\.[^"\\]*)*) " [ \t]* (?: , | \Z )""", re.VERBOSE
)
_NAME: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_ESCAPE: Final = re.compile(r'\\([\\"n])')
# How DCGM spells a text that it has not (dcgm_structs.h, DCGM_STR_BLANK and its neighbours).
_BLANKS: Final = frozenset({"", "<<<NULL>>>", "<<<NOT_FOUND>>>", "<<<NOT_SUPPORTED>>>", "<<<NOT_PERM>>>"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """The families to keep, compiled; built by `compile_wanted`."""

    row: re.Pattern[bytes]
    names: Mapping[bytes, str]


@dataclass(frozen=True, slots=True)
class Page:
    """What one page holds of the wanted families.

    rows: in page order. skipped: how many rows of wanted families do not parse.
    families: those that have a row, be it a bad one.
    blocks: labels by the bytes between the braces, to be handed to the next scan of the same target.
    """

    rows: tuple[Row, ...]
    skipped: int
    families: frozenset[str]
    blocks: Mapping[bytes, Mapping[str, str]]


def compile_wanted(names: Iterable[str]) -> Wanted:
    """Raises ValueError for what cannot be a metric's name."""
    known = {name.encode(): name for name in names}
    if wrong := [name for name in known.values() if not _NAME.fullmatch(name)]:
        raise ValueError(f"not a metric name: {wrong[0]!r}")
    alternatives = b"|".join(known) or b"(?!)"
    return Wanted(re.compile(_ROW % alternatives, re.VERBOSE), MappingProxyType(known))


def complete(page: bytes) -> bool:
    """Whether the page ends where a line ends; one that does not was cut off, maybe inside a number."""
    return page.endswith(b"\n")


def scan(page: bytes, wanted: Wanted, blocks: Mapping[bytes, Mapping[str, str]]) -> Page:
    """The wanted rows of a page; never raises.

    blocks: from the last page of this target, or empty. A GPU's rows carry the same label bytes in every family and on
    every page, so labels are parsed only when a pod comes or goes. It changes the time this takes, not the result.
    """
    rows: list[Row] = []
    seen: dict[bytes, Mapping[str, str]] = {}
    families: set[str] = set()
    skipped = 0
    for name, block, number, stamp in wanted.row.findall(b"\n" + page):
        family = wanted.names[name]
        families.add(family)
        labels = seen.get(block)
        if labels is None:
            labels = blocks[block] if block in blocks else _labels(block)
        if not number or labels is None:
            skipped += 1
            continue
        seen[block] = labels
        rows.append(Row(family, labels, float(number), int(stamp) / 1000 if stamp else None))
    return Page(tuple(rows), skipped, frozenset(families), MappingProxyType(seen))


def _labels(block: bytes) -> Mapping[str, str] | None:
    """The labels between a row's braces, those without a text left out; None: these are no labels."""
    try:
        text = block.decode()
    except UnicodeDecodeError:
        return None
    given: dict[str, str] = {}
    end = 0
    while match := _LABEL.match(text, end):
        given.setdefault(match[1], _unescaped(match[2]))
        end = match.end()
    if text[end:].strip(" \t"):
        return None
    return MappingProxyType({name: value for name, value in given.items() if value not in _BLANKS})


def _unescaped(value: str) -> str:
    """Escapes other than the format's three stay as they are written, as Prometheus reads them."""
    if "\\" not in value:
        return value
    return _ESCAPE.sub(lambda escape: "\n" if escape[1] == "n" else escape[1], value)
