"""From a user's expression to the one query that returns its values and the truth about them. Pure.

    combined = time()                           what "now" was to the server that evaluated all this
               or T of each leaf                the oldest sample time that leaf put into each row (`times`)
               or the lost inputs of each leaf  (`vanished`)
               or the expression, as written    values

A value row counts only with the time row of every leaf beside it: same labels, name aside. `rows` holds the tags that
tell them apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from adapter.core.errors import UndatableQuery
from adapter.promql.parse import parse
from adapter.promql.rows import TIMES, VANISHED, joined, tagged
from adapter.promql.text import Selector
from adapter.promql.times import times
from adapter.promql.tree import Node, Read, reads
from adapter.promql.vanished import vanished

MAX_LEAVES = 32  # the combined query grows with the square of it


@dataclass(frozen=True, slots=True)
class Leaf:
    """One place where the expression reads series.

    `selector` is its instant selector, moved back by its own offset and that of subqueries around it; `offset` that sum
    in seconds, positive into the past. `role` is "labels" on the one side of a many-to-one `*` that hands labels over,
    whatever its name, else "value". `window`: seconds of samples it is read over, subqueries included; None for an
    instant. `recorded`: its name has a colon, or is a pattern, so that a rule may write it. `times` and `vanished` as
    in the combined query, without tags. `targets` gives one row per scrape target (job, instance) it reads from.
    """

    selector: str
    metric: str
    role: Literal["value", "labels"]
    window: float | None
    offset: float
    recorded: bool
    times: str
    vanished: str | None
    targets: str
    names: Selector

    def may_read(self, name: str) -> bool:
        """Whether it can select series of this name; in doubt, yes."""
        return self.names.may_read(name)


@dataclass(frozen=True, slots=True)
class Plan:
    """`query`: the user's, unchanged; `combined`: what to send; `window`: longest range of a value leaf in seconds."""

    query: str
    leaves: tuple[Leaf, ...]
    combined: str
    window: float | None


def plan(query: str, object_labels: Sequence[str], vanish_window: float) -> Plan:
    """`object_labels` name the object a row speaks of; `vanish_window` (seconds, > 0) is how long a lost input is
    remembered where the query reads no range itself. Raises UndatableQuery.
    """
    tree = parse(query)
    found = list(reads(tree))
    if len(found) > MAX_LEAVES:
        why = (
            f"it reads series in {len(found)} places, and each is dated by a query of its own; at most {MAX_LEAVES} are"
        )
        raise UndatableQuery(
            query, f"{query[:40]}…", why, "match the series by one regular expression, or split the metric"
        )
    leaves = tuple(_leaf(tree, read, object_labels, vanish_window) for read in found)
    windows = [leaf.window for leaf in leaves if leaf.window is not None and leaf.role == "value"]
    return Plan(query, leaves, _combined(query, leaves), max(windows, default=None))


def _leaf(tree: Node, read: Read, object_labels: Sequence[str], vanish_window: float) -> Leaf:
    selector = read.selector.back(read.shift)
    return Leaf(
        selector=selector.instant,
        metric=selector.metric,
        role="labels" if read.lends else "value",
        window=read.window,
        offset=selector.offset,
        recorded=selector.recorded,
        times=times(tree, read.index),
        vanished=vanished(tree, read.index, object_labels, vanish_window),
        targets=f"group by (job, instance) ({selector.instant})",
        names=selector,
    )


def _combined(query: str, leaves: Sequence[Leaf]) -> str:
    """The line break keeps a comment at the query's end from swallowing the parenthesis."""
    clocks = [tagged(leaf.times, f"{TIMES}{index}") for index, leaf in enumerate(leaves)]
    losses = [tagged(leaf.vanished, f"{VANISHED}{index}") for index, leaf in enumerate(leaves) if leaf.vanished]
    return joined([*clocks, *losses, f"({query}\n)"])
