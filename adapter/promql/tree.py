"""A query as what its parts do to rows: all that ages and vanished inputs are derived from.

PromQL has some ninety functions and operators, but only ten things that matter to a sample's time; `parse` sorts every
construct into one of these ten or refuses it. Every node keeps the PromQL `text` it came from.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from adapter.promql.text import Grouping, Matching, Selector


@dataclass(frozen=True, slots=True)
class Read:
    """A leaf: series are read here.

    `window`: seconds it is read over (its range and that of the subqueries around it), None for an instant; `shift`:
    seconds that enclosing subqueries move it back, beyond the selector's own offset; `lends`: it stands where only
    labels are taken from.
    """

    text: str
    index: int
    selector: Selector
    window: float | None
    shift: float
    lends: bool


@dataclass(frozen=True, slots=True)
class Each:
    """Row for row: functions, arithmetic with a number. `numbers`: vectors inside `scalar(…)`, part of every row."""

    text: str
    arg: "Node"
    numbers: "tuple[Node, ...]" = ()


@dataclass(frozen=True, slots=True)
class Labels:
    """label_replace, label_join: `rest` are the arguments after the vector, `sets` the label written."""

    text: str
    arg: "Node"
    function: str
    rest: str
    sets: str


@dataclass(frozen=True, slots=True)
class Group:
    """Many rows become one: aggregations, and histogram_quantile (`buckets`), which takes rows that differ in `le`."""

    text: str
    arg: "Node"
    grouping: Grouping
    buckets: bool = False


@dataclass(frozen=True, slots=True)
class Pick:
    """Some of the rows, unchanged: topk and its like, a comparison with a number."""

    text: str
    arg: "Node"


@dataclass(frozen=True, slots=True)
class Over:
    """A subquery; `span` is its range, step and offset as text."""

    text: str
    arg: "Node"
    span: str


@dataclass(frozen=True, slots=True)
class Join:
    """Arithmetic or comparison between two vectors; `filters`: a comparison that drops rows."""

    text: str
    left: "Node"
    right: "Node"
    matching: Matching
    filters: bool


@dataclass(frozen=True, slots=True)
class And:
    text: str
    left: "Node"
    right: "Node | None"  # None: it reads no series, as in `hour() > 8`
    right_text: str
    matching: Matching


@dataclass(frozen=True, slots=True)
class Unless:
    """The right side only removes rows: no row that is left was made from it, so it dates nothing."""

    text: str
    left: "Node"
    right_text: str
    matching: Matching


@dataclass(frozen=True, slots=True)
class Or:
    text: str
    left: "Node"
    right: "Node"
    matching: Matching


Node: TypeAlias = Read | Each | Labels | Group | Pick | Over | Join | And | Unless | Or


def reads(node: Node) -> Iterator[Read]:
    """The leaves below a node, in the query's order."""
    if isinstance(node, Read):
        yield node
    for part in _parts(node):
        yield from reads(part)


def holds(node: Node | None, leaf: int) -> bool:
    return node is not None and any(read.index == leaf for read in reads(node))


def first(node: Node) -> int:
    """Any one leaf of the node; every node has one."""
    return next(reads(node)).index


def one_side(matching: Matching) -> Literal["left", "right", ""]:
    """Which side of a many-to-one match is the one."""
    return "right" if matching.many == "left" else "left" if matching.many == "right" else ""


def _parts(node: Node) -> tuple[Node, ...]:
    match node:
        case Each(arg=arg, numbers=numbers):
            return (arg, *numbers)
        case Labels(arg=arg) | Group(arg=arg) | Pick(arg=arg) | Over(arg=arg) | Unless(left=arg):
            return (arg,)
        case Join(left=left, right=right) | Or(left=left, right=right):
            return (left, right)
        case And(left=left, right=right):
            return (left,) if right is None else (left, right)
    return ()
