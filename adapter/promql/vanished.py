"""Inputs that an aggregation lost, as PromQL. Law: a sum over what is left never passes for the whole.

When a series gets a staleness marker, `sum` goes on over the others and their times stay young. So for every leaf below
an aggregation there is a query whose rows say: series that were read within the window are gone now. It groups by L,
the labels of the outermost aggregation (the one whose rows are the result's), and by the object's labels where the leaf
has them, so that a pod which is really gone can be told apart. A row concerns every value row that agrees with it on
the labels that both have.

    sum by (namespace, pod) (x)              count by (namespace, pod) (present_over_time(x[w]) unless x)
    avg(x)                                   the same by the object's labels alone: it concerns the one row there is
    sum without (instance) (x)               count without (instance) (…), never without an object's label
    histogram_quantile(φ, sum by (le, pod))  count by (pod) (…), `le` dropped; with no inner aggregation: without (le)
    sum by (ns) (max by (ns, pod) (x))       count by (ns, and the object's labels) (…): only the outermost counts
    sum by (pod) (a) / sum by (pod) (b)      one for a, one for b, each by its own aggregation
    x / on (ns) group_left () sum by (ns) (y)   by (ns) only: a lost y spoils every row of the namespace
    avg by (app) (x * on (pod) group_left (app) y)   for x: lost x joined with the window's y, to know its app
    avg(x * on (pod) y), avg(x and on (pod) y)       for x: lost x whose y was there within the window: the join filters
    label_replace around or below            the same call, around or below

w is the range the leaf is read over, else the caller's window. Joins that say `ignoring` are passed by: a row too many
makes an object partial for a while, a row too few would hide a loss.
"""

from collections.abc import Sequence
from typing import NamedTuple

from adapter.promql.text import Grouping, Matching
from adapter.promql.tree import And, Each, Group, Join, Labels, Node, Or, Over, Pick, Read, Unless, holds, one_side


def vanished(tree: Node, leaf: int, object_labels: Sequence[str], window: float) -> str | None:
    """None where no aggregation stands above the leaf: what vanishes there takes its row along. `window` in seconds."""
    return _Lost(leaf, window).above(tree, tuple(object_labels), ())


class _Lost(NamedTuple):
    leaf: int
    window: float

    def above(self, node: Node, keep: tuple[str, ...], dropped: tuple[str, ...]) -> str | None:
        """Down to the outermost aggregation. `keep`: object labels to group by; `dropped`: labels no result row has."""
        match node:
            case Labels():
                inner = self.above(node.arg, _less(keep, (node.sets,)), dropped)
                return inner and f"{node.function}({inner}, {node.rest})"
            case Group():
                inner = self.above(node.arg, keep, (*dropped, "le")) if node.buckets else None
                return inner or f"count{_widened(node.grouping, keep, dropped)}({self.below(node.arg)})"
            case Pick() | Over() | Each():
                for number in node.numbers if isinstance(node, Each) else ():
                    if holds(number, self.leaf):
                        return self.above(number, (), dropped)
                return self.above(node.arg, keep, dropped)
            case Join() | And() | Or():
                return self._above_sides(node, keep, dropped)
            case Unless():
                return self.above(node.left, keep, dropped)
        return None

    def _above_sides(self, node: Join | And | Or, keep: tuple[str, ...], dropped: tuple[str, ...]) -> str | None:
        side = "left" if holds(node.left, self.leaf) else "right"
        part = node.left if side == "left" else node.right
        shared = side == "right" if isinstance(node, And) else side == one_side(node.matching)
        return None if part is None else self.above(part, () if shared else _less(keep, node.matching.lends), dropped)

    def below(self, node: Node) -> str:
        """Lost series with all the labels they have and are lent; aggregations in between are passed by."""
        match node:
            case Read():
                return f"({self.present(node)} unless {node.selector.back(node.shift).instant})"
            case Labels():
                return f"{node.function}({self.below(node.arg)}, {node.rest})"
            case Each():
                lost = [number for number in node.numbers if holds(number, self.leaf)]
                return f"count({self.below(lost[0])})" if lost else self.below(node.arg)
            case Group() | Pick() | Over():
                return self.below(node.arg)
            case Unless():
                return self.below(node.left)
            case Or():
                return self.below(node.left if holds(node.left, self.leaf) else node.right)
            case Join():
                return self._join(node)
            case And():
                return self._and(node)

    def _join(self, node: Join) -> str:
        matching, side = node.matching, "left" if holds(node.left, self.leaf) else "right"
        ours, other = (node.left, node.right) if side == "left" else (node.right, node.left)
        lost = self.below(ours)
        if not matching.on:
            return f"count{matching.alone}({lost})" if side == one_side(matching) else lost
        if side == one_side(matching):
            return _lend(self.present(other), lost, matching)
        there = self.present(other)
        return _lend(lost, there, matching) if matching.lends else f"({lost} and{_match(matching)}{there})"

    def _and(self, node: And) -> str:
        if node.right is None:
            return self.below(node.left)
        if holds(node.left, self.leaf):
            lost = self.below(node.left)
            return f"({lost} and{node.matching}{self.present(node.right)})" if node.matching.on else lost
        lost = self.below(node.right)
        if node.matching.on:
            return f"({self.present(node.left)} and{node.matching}{lost})"
        return f"count{node.matching.alone}({lost})"

    def present(self, node: Node) -> str:
        """What was there within the window, value aside: at least the rows of the node."""
        match node:
            case Read():
                return f"present_over_time({node.selector.back(node.shift).over(node.window or self.window)})"
            case Labels():
                return f"{node.function}({self.present(node.arg)}, {node.rest})"
            case Group():
                return f"group{node.grouping}({self.present(node.arg)})"
            case Each(arg=arg) | Pick(arg=arg) | Over(arg=arg) | Unless(left=arg) | And(left=arg):
                return self.present(arg)
            case Or():
                return f"({self.present(node.left)} or {self.present(node.right)})"
            case Join():
                many, one = (node.right, node.left) if one_side(node.matching) == "left" else (node.left, node.right)
                lent = node.matching.on and node.matching.lends
                return _lend(self.present(many), self.present(one), node.matching) if lent else self.present(many)


def _lend(many: str, one: str, matching: Matching) -> str:
    """The many with the labels lent by the one; of several ones within the window, any."""
    return f"({many} *{matching._replace(many='left')}topk{matching.alone}(1, {one}))"


def _match(matching: Matching) -> Matching:
    return Matching(matching.on, matching.labels)


def _widened(grouping: Grouping, keep: tuple[str, ...], dropped: tuple[str, ...]) -> Grouping:
    if grouping.by:
        own = _less(grouping.labels, dropped)
        return Grouping(by=True, labels=(*own, *_less(keep, own)))
    return Grouping(by=False, labels=_less((*grouping.labels, *dropped), keep))


def _less(names: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if name not in others)
