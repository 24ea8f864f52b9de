"""When a row's inputs were sampled, as PromQL. Law: never younger than the truth.

`times(node, leaf)` is an expression whose rows carry the labels of the node's value rows (without the metric name) and,
as their value, the oldest sample time, in server seconds, that the leaf put into that row. `timestamp()` gives a
sample's time on a bare selector only; on anything else Prometheus gives the time of evaluation, so it is applied at the
leaf and carried up:

    the leaf                          timestamp(sel), its own offset kept; over a range: of its newest sample
    any other leaf                    0 * its time: keeps the shape of joins and adds nothing
    aggregation by (L)                min by (L) (T)            histogram_quantile: min without (le) (T)
    row for row, a number             T                         scalar(v) in it: 0 * T + scalar(T of v)
    topk, comparison with a number    T and the expression: only the rows that are left
    vector with vector                T(l) + matching T(r)      a comparison: … and the expression
    l and r                           T(l) and r; a leaf of r: 0 * T(l) + the oldest match of T(r)
    l unless r                        T(l) unless r
    l or r                            T where its side gave the row, else time(): it put nothing into that row
    subquery e[r:s]                   max_over_time(T[r:s]), the newest sample it saw

A range sees past staleness markers and `timestamp` does not: such a row has a value and no time, and a value without
its times is withheld.
"""

from adapter.promql.tree import And, Each, Group, Join, Labels, Node, Or, Over, Pick, Read, Unless, first, holds


def times(node: Node, leaf: int) -> str:  # noqa: PLR0911 - one return per kind of node
    """`leaf` is the index of a Read below `node`."""
    match node:
        case Read():
            return f"timestamp({node.selector.instant})"
        case Each():
            return _each(node, leaf)
        case Labels():
            return f"{node.function}({times(node.arg, leaf)}, {node.rest})"
        case Group():
            return f"min{node.grouping}({times(node.arg, leaf)})"
        case Pick():
            return f"({times(node.arg, leaf)} and {node.text})"
        case Over():
            return f"max_over_time(({times(node.arg, leaf)}){node.span})"
        case Join():
            joined = f"({_at(node.left, leaf)} +{node.matching}{_at(node.right, leaf)})"
            return f"({joined} and {node.text})" if node.filters else joined
        case And():
            return _and(node, leaf)
        case Unless():
            return f"({times(node.left, leaf)} unless{node.matching}{node.right_text})"
        case Or():
            return _or(node, leaf)


def _zero(node: Node) -> str:
    """The node's rows, each 0; a sample time is always finite."""
    return f"0 * {times(node, first(node))}"


def _at(node: Node, leaf: int) -> str:
    return times(node, leaf) if holds(node, leaf) else _zero(node)


def _each(node: Each, leaf: int) -> str:
    for number in node.numbers:
        if holds(number, leaf):
            return f"({_zero(node.arg)} + scalar({times(number, leaf)}))"
    return times(node.arg, leaf)


def _and(node: And, leaf: int) -> str:
    if node.right is None or not holds(node.right, leaf):
        return f"({times(node.left, leaf)} and{node.matching}{node.right_text})"
    alone = node.matching.alone
    oldest = f"min{alone}({times(node.right, leaf)})"
    return f"({_zero(node.left)} +{node.matching._replace(many='left')}{oldest})"


def _or(node: Or, leaf: int) -> str:
    """Held to the left side's value rows: over a range its times and its values need not be there together."""
    if holds(node.left, leaf):
        ours, rest = times(node.left, leaf), f"({_zero(node.right)} + time())"
    else:
        ours, rest = f"({_zero(node.left)} + time())", times(node.right, leaf)
    return f"(({ours} and {node.left.text}) or ({rest} unless{node.matching}{node.left.text}))"
