"""What says the same whatever was measured. Law: such rows may filter and scale, but never stand in for missing ones.

`queue or 0 * up` serves a zero for every target that is up: a number that nobody measured, with the age of `up`.
"""

import promql_parser as promql

from adapter.promql.text import show

_SAME_WITH_ITSELF = frozenset({"-", "/", "%"})
_ALWAYS_ONE = frozenset({"group", "present_over_time"})


def invented(node: promql.Expr) -> bool:
    """Whether its values do not depend on what its series measured. In doubt (an info metric is 1 by use), no."""
    match node:
        case promql.NumberLiteral():
            return True
        case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            return invented(node.expr)
        case promql.AggregateExpr():
            operator = str(node.op)
            return operator in _ALWAYS_ONE or (operator != "count" and invented(node.expr))
        case promql.Call():
            return _call(node)
        case promql.BinaryExpr():
            return _binary(node)
    return False


def _call(node: promql.Call) -> bool:
    if node.func.name in _ALWAYS_ONE:
        return True
    if node.func.name == "clamp" and show(node.args[1]) == show(node.args[2]):
        return True
    measured = [arg for arg in node.args if not isinstance(arg, promql.NumberLiteral | promql.StringLiteral)]
    return bool(measured) and all(invented(arg) for arg in measured)


def _binary(node: promql.BinaryExpr) -> bool:
    operator = str(node.op)
    if node.modifier is not None and node.modifier.return_bool:
        return True
    left, right = node.lhs, node.rhs
    match operator:
        case "or":
            return invented(left) or invented(right)
        case "and" | "unless":
            return invented(left)
        case "!=" | ">" | "<" | ">=" | "<=":
            return invented(left) if _number(left) is None else invented(right)
        case "==":
            fixed = _number(left) is not None or _number(right) is not None or invented(left)
        case "*":
            fixed = _number(left) == 0 or _number(right) == 0
        case "/" | "%":
            fixed = _number(left) == 0
        case "^":
            fixed = _number(left) in (0, 1) or _number(right) == 0
        case _:
            fixed = False
    same = operator in _SAME_WITH_ITSELF and show(left) == show(right)
    return fixed or same or (invented(left) and invented(right))


def _number(node: promql.Expr) -> float | None:
    match node:
        case promql.NumberLiteral():
            return float(node.val)
        case promql.ParenExpr():
            return _number(node.expr)
        case promql.UnaryExpr():
            inner = _number(node.expr)
            return None if inner is None else -inner
    return None
