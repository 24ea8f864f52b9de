"""PromQL text → tree. Law: what cannot be dated is refused here, in a sentence that says what to write instead.

Refused are: what makes a value up when nothing was measured (`vector(0)`, `absent`, functions of the clock alone, and
`bool` or `^` of a `scalar(…)`, which is NaN then), what pins time (`@`), what gives no rows (numbers, strings, ranges),
and what the parser (the grammar of Prometheus 2.45) does not know.
"""

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple, NoReturn

import promql_parser as promql

from adapter.core.errors import UndatableQuery
from adapter.promql.invented import invented
from adapter.promql.rows import TAG
from adapter.promql.text import grouping, matching, selector, show, span
from adapter.promql.tree import And, Each, Group, Join, Labels, Node, Or, Over, Pick, Read, Unless, one_side

_MADE_UP = "it makes a row even when nothing was measured"
_LEAVE_OUT = "write the query without it: what is missing is withheld with a reason, never served as a number"
_REFUSED_CALLS = {
    "absent": (_MADE_UP, _LEAVE_OUT),
    "absent_over_time": (_MADE_UP, _LEAVE_OUT),
    "vector": (_MADE_UP, _LEAVE_OUT),
    "info": (
        "it picks series that the query does not name",
        "join by hand: `x * on (job, instance) group_left (label) target_info`",
    ),
    "histogram_quantiles": ("its rows are not those of its buckets", "write one `histogram_quantile` per quantile"),
}
_PICKS = frozenset({"topk", "bottomk", "limitk", "limit_ratio"})
_COMPARISONS = frozenset({"==", "!=", ">", "<", ">=", "<="})
_DIALECT = (
    "write it in the PromQL of Prometheus 2.45, which has no MetricsQL functions, WITH templates or duration arithmetic"
)


class _Scope(NamedTuple):
    """Where in the query we are; `window` and `shift` in seconds, from the subqueries around."""

    query: str
    numbers: Iterator[int]
    window: float = 0.0
    shift: float = 0.0
    lends: bool = False

    def refuse(self, construct: str, why: str, remedy: str) -> NoReturn:
        raise UndatableQuery(self.query, construct, why, remedy)


def parse(query: str) -> Node:
    """The tree of an instant-vector expression; raises UndatableQuery."""
    scope = _Scope(query, count())
    try:
        expression = promql.parse(query)
    except ValueError as error:
        scope.refuse(query, f"it is not PromQL as far as we know it ({error})", _remedy(str(error)))
    promql.walk(expression, lambda node: _refuse_pinned(node, scope))
    if TAG in show(expression):
        scope.refuse(TAG, "that label tells our own rows apart", "use another label name")
    if isinstance(expression, promql.StringLiteral) or _is_number(expression):
        scope.refuse(
            show(expression), "it is a bare value without labels or sample time", "query a vector, such as `sum(x)`"
        )
    if isinstance(expression, promql.MatrixSelector | promql.SubqueryExpr):
        scope.refuse(
            show(expression),
            "it is a range of samples, not a value",
            "put it into a function, such as `max_over_time(x[5m])`",
        )
    return _rows(expression, scope)


def _remedy(error: str) -> str:
    if "expected type matrix" in error and "got vector" in error:
        return "give the function its window, as in `rate(x[5m])`"
    if "escape sequence" in error:
        return r'double the backslash and use double quotes, as in `"\\d+"`'
    return _DIALECT


def _refuse_pinned(node: promql.Expr, scope: _Scope) -> None:
    if isinstance(node, promql.VectorSelector | promql.SubqueryExpr) and node.at is not None:
        scope.refuse(str(node), "`@` pins it to one moment", "leave `@` out, or use `offset`, which shows as age")
    if isinstance(node, promql.MatrixSelector):
        _refuse_pinned(node.vector_selector, scope)


def _rows(node: promql.Expr, scope: _Scope) -> Node:
    match node:
        case promql.ParenExpr():
            return _rows(node.expr, scope)
        case promql.VectorSelector():
            return _read(node, node, None, scope)
        case promql.MatrixSelector():
            return _read(node, node.vector_selector, node.range.total_seconds(), scope)
        case promql.SubqueryExpr():
            return _subquery(node, scope)
        case promql.UnaryExpr():
            return Each(show(node), _rows(node.expr, scope))
        case promql.AggregateExpr():
            return _aggregation(node, scope)
        case promql.Call():
            return _call(node, scope)
        case promql.BinaryExpr():
            return _binary(node, scope)
    raise AssertionError(f"the parser lets no {type(node).__name__} stand for a vector")


def _read(node: promql.Expr, series: promql.VectorSelector, window: float | None, scope: _Scope) -> Read:
    whole = scope.window + (window or 0.0)
    return Read(show(node), next(scope.numbers), selector(series), whole or None, scope.shift, scope.lends)


def _subquery(node: promql.SubqueryExpr, scope: _Scope) -> Over:
    offset = node.offset.total_seconds() if node.offset else 0.0
    window = node.range.total_seconds() if node.range else 0.0
    inner = scope._replace(window=scope.window + window, shift=scope.shift + offset)
    return Over(show(node), _rows(node.expr, inner), span(node))


def _aggregation(node: promql.AggregateExpr, scope: _Scope) -> Node:
    operator = str(node.op)
    if operator == "count_values":
        scope.refuse(show(node), "it turns values into labels", "count one value with `count by (…) (x == 1)`")
    numbers = _numbers(node.param, scope) if node.param is not None and _is_number(node.param) else ()
    arg = _rows(node.expr, scope)
    text = show(node)
    found = Pick(text, arg) if operator in _PICKS else Group(text, arg, grouping(node.modifier))
    return Each(text, found, numbers) if numbers else found


def _call(node: promql.Call, scope: _Scope) -> Node:
    name, text = node.func.name, show(node)
    if name in _REFUSED_CALLS:
        scope.refuse(text, *_REFUSED_CALLS[name])
    numbers = tuple(n for arg in node.args if _is_number(arg) for n in _numbers(arg, scope))
    vectors = [arg for arg in node.args if not _is_number(arg) and not isinstance(arg, promql.StringLiteral)]
    if not vectors:
        scope.refuse(text, "it reads the clock and no series", "use it in arithmetic with a number, or after `and`")
    arg = _rows(vectors[0], scope)
    if name == "timestamp" and not isinstance(arg, Read):
        scope.refuse(
            text,
            "on anything but a bare selector it gives the time of evaluation",
            "use `timestamp(x)` on the selector itself",
        )
    if name in {"label_replace", "label_join"}:
        return Labels(text, arg, name, ", ".join(map(show, node.args[1:])), node.args[1].val)
    if name == "histogram_quantile":
        found: Node = Group(
            text, arg, grouping(promql.AggModifier(promql.AggModifierType.Without, ["le"])), buckets=True
        )
        return Each(text, found, numbers) if numbers else found
    return Each(text, arg, numbers)


def _binary(node: promql.BinaryExpr, scope: _Scope) -> Node:
    operator, how = str(node.op), node.modifier
    if how and (how.fill_values.lhs is not None or how.fill_values.rhs is not None):
        scope.refuse(str(node), "`fill` puts a number where nothing was measured", "leave `fill` out")
    if operator in {"and", "unless", "or"}:
        return _set(node, operator, scope)
    filters = operator in _COMPARISONS and not (how and how.return_bool)
    for number, vector in ((node.lhs, node.rhs), (node.rhs, node.lhs)):
        if _is_number(number):
            _refuse_unequal(node, scope)
            return _with_number(show(node), vector, number, scope, filters=filters)
    match = matching(how)
    lending = scope._replace(lends=scope.lends or (operator == "*" and bool(match.lends)))
    left = _rows(node.lhs, lending if one_side(match) == "left" else scope)
    right = _rows(node.rhs, lending if one_side(match) == "right" else scope)
    return Join(show(node), left, right, match, filters)


def _refuse_unequal(node: promql.BinaryExpr, scope: _Scope) -> None:
    """A `scalar` without its series is NaN, which shows in every result but these."""
    as_bool = node.modifier is not None and node.modifier.return_bool
    if not as_bool and str(node.op) != "^":
        return
    if any(_is_number(side) and _reads_series(side) for side in (node.lhs, node.rhs)):
        scope.refuse(
            show(node),
            "a scalar whose series is gone is NaN, and this turns it into 0 or 1",
            "compare or raise vectors, with `on () group_left ()` in place of `scalar`",
        )


def _with_number(text: str, vector: promql.Expr, number: promql.Expr, scope: _Scope, *, filters: bool) -> Node:
    arg, numbers = _rows(vector, scope), _numbers(number, scope)
    if not filters:
        return Each(text, arg, numbers)
    return Each(text, Pick(text, arg), numbers) if numbers else Pick(text, arg)


def _set(node: promql.BinaryExpr, operator: str, scope: _Scope) -> Node:
    text, other, match = show(node), show(node.rhs), matching(node.modifier)
    if operator == "or" and (not _reads_series(node.rhs) or invented(node.rhs)):
        scope.refuse(f"or {other}", _MADE_UP, _LEAVE_OUT)
    if operator == "or" and scope.window:
        scope.refuse(
            text,
            "inside a subquery nobody can tell which side gave which step",
            "put the subquery on each side of the `or`",
        )
    left = _rows(node.lhs, scope)
    if operator == "unless":
        return Unless(text, left, other, match)
    if operator == "and":
        return And(text, left, _rows(node.rhs, scope) if _reads_series(node.rhs) else None, other, match)
    return Or(text, left, _rows(node.rhs, scope), match)


def _is_number(node: promql.Expr) -> bool:
    match node:
        case promql.ParenExpr() | promql.UnaryExpr():
            return _is_number(node.expr)
        case promql.BinaryExpr():
            return _is_number(node.lhs) and _is_number(node.rhs)
        case promql.Call():
            return bool(node.func.return_type == promql.ValueType.Scalar)
    return isinstance(node, promql.NumberLiteral)


def _numbers(node: promql.Expr, scope: _Scope) -> tuple[Node, ...]:
    """The vectors that a number is made of: what stands in its `scalar(…)` calls."""
    match node:
        case promql.ParenExpr() | promql.UnaryExpr():
            return _numbers(node.expr, scope)
        case promql.BinaryExpr():
            _refuse_unequal(node, scope)
            return (*_numbers(node.lhs, scope), *_numbers(node.rhs, scope))
        case promql.Call() if node.args:
            return tuple(_rows(arg, scope) for arg in node.args)
    return ()


def _reads_series(node: promql.Expr) -> bool:
    """Whether a selector stands anywhere below."""
    return not promql.walk(node, lambda each: not isinstance(each, promql.VectorSelector | promql.MatrixSelector))
