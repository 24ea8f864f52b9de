"""PromQL trees printed back as PromQL. Law: what is printed means what was parsed.

The parser's own `str()` does not keep it: version 0.12 prints label values unescaped, `[5m:]` as `[5m]`, and durations
without their milliseconds. Binary expressions are always printed in parentheses, so precedence never has to be worked
out again.
"""

import json
import re
from datetime import timedelta
from typing import NamedTuple

import promql_parser as promql

_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_METRIC = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*\Z")
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000))
_MATCH_OPS = (
    (promql.MatchOp.Equal, "="),
    (promql.MatchOp.NotEqual, "!="),
    (promql.MatchOp.Re, "=~"),
    (promql.MatchOp.NotRe, "!~"),
)


def quote(text: str) -> str:
    """A string literal; JSON's escapes are a subset of PromQL's."""
    return json.dumps(text, ensure_ascii=False)


def duration(seconds: float) -> str:
    """To the millisecond, in the largest unit that divides it: 300 → `5m`, 1.5 → `1500ms`, −10 → `-10s`."""
    ms = round(seconds * 1000)
    sign, ms = ("-", -ms) if ms < 0 else ("", ms)
    unit, size = next(((unit, size) for unit, size in _UNITS if ms and ms % size == 0), ("ms", 1))
    return f"{sign}{ms // size}{unit}"


def labels(names: tuple[str, ...]) -> str:
    """A list of label names in parentheses."""
    return f"({', '.join(name if _LABEL.match(name) else quote(name) for name in names)})"


class Selector(NamedTuple):
    """What a vector selector selects, apart from the range it may be read over.

    `body` is name and matchers (`x{a="b"}`), `offset` seconds into the past, `metric` the exact name or "", `names` the
    patterns a name has to fit where there is no exact one (None: any name may).
    """

    body: str
    offset: float
    metric: str
    names: tuple[tuple[str, str], ...] | None

    @property
    def recorded(self) -> bool:
        """Whether a rule may write it: its name has a colon, as by convention no other has, or is not exactly known."""
        return ":" in self.metric or not self.metric

    def may_read(self, name: str) -> bool:
        """Whether series of this name can be selected; in doubt, yes."""
        if self.metric:
            return name == self.metric
        return all(_fits(operator, pattern, name) for operator, pattern in self.names or ())

    def back(self, seconds: float) -> "Selector":
        return self._replace(offset=self.offset + seconds)

    @property
    def instant(self) -> str:
        return f"{self.body}{_offset(self.offset)}"

    def over(self, window: float) -> str:
        return f"{self.body}[{duration(window)}]{_offset(self.offset)}"


def selector(node: promql.VectorSelector) -> Selector:
    matchers = node.matchers.matchers
    names = tuple((_operator(m), m.value) for m in matchers if m.name == "__name__")
    metric = node.name or next((value for operator, value in names if operator == "="), "")
    plain = node.name if node.name and _METRIC.match(node.name) else ""
    own = [*([] if plain or not node.name else [f"__name__={quote(node.name)}"]), *map(_matcher, matchers)]
    either = [",".join(map(_matcher, group)) for group in node.matchers.or_matchers]
    inside = " or ".join([*([",".join(own)] if own else []), *either])
    body = f"{plain}{{{inside}}}" if inside else plain
    return Selector(body, _seconds(node.offset), metric, None if either else names)


def _fits(operator: str, pattern: str, name: str) -> bool:
    if operator in {"=", "!="}:
        return (name == pattern) is (operator == "=")
    try:
        return (re.fullmatch(pattern, name) is not None) is (operator == "=~")
    except re.error:  # RE2 knows classes that Python does not
        return True


def _matcher(matcher: promql.Matcher) -> str:
    name = matcher.name if _LABEL.match(matcher.name) else quote(matcher.name)
    return f"{name}{_operator(matcher)}{quote(matcher.value)}"


def _operator(matcher: promql.Matcher) -> str:
    return next(text for op, text in _MATCH_OPS if op == matcher.op)  # the parser's enums cannot be dictionary keys


def _seconds(delta: timedelta | None) -> float:
    return delta.total_seconds() if delta else 0.0


def _offset(seconds: float) -> str:
    return f" offset {duration(seconds)}" if seconds else ""


class Grouping(NamedTuple):
    """`by (labels)` or `without (labels)`; an aggregation that says neither groups by nothing."""

    by: bool
    labels: tuple[str, ...]

    def __str__(self) -> str:
        if self.by and not self.labels:
            return ""
        return f" {'by' if self.by else 'without'} {labels(self.labels)} "


def grouping(modifier: promql.AggModifier | None) -> Grouping:
    if modifier is None:
        return Grouping(by=True, labels=())
    return Grouping(modifier.type == promql.AggModifierType.By, tuple(modifier.labels))


class Matching(NamedTuple):
    """How the rows of two vectors find each other: on these labels or on all but these; what the one lends the many."""

    on: bool
    labels: tuple[str, ...]
    many: str = ""  # "left", "right", or "" for one to one
    lends: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Text between the operator and its right side, with spaces around it."""
        found = (
            f" {'on' if self.on else 'ignoring'} {labels(self.labels)}" if self.on or self.labels or self.many else ""
        )
        return f"{found} group_{self.many} {labels(self.lends)} " if self.many else f"{found} "

    @property
    def alone(self) -> Grouping:
        """The grouping that leaves one row per match."""
        return Grouping(self.on, self.labels)


def matching(modifier: promql.BinModifier | None) -> Matching:
    if modifier is None:
        return Matching(on=False, labels=())
    found = modifier.matching
    sides = ((promql.VectorMatchCardinality.ManyToOne, "left"), (promql.VectorMatchCardinality.OneToMany, "right"))
    many = next((side for cardinality, side in sides if cardinality == modifier.card), "")
    return Matching(
        on=found is not None and found.type == promql.LabelModifierType.Include,
        labels=tuple(found.labels) if found else (),
        many=many,
        lends=tuple(modifier.group_labels or ()),
    )


def show(node: promql.Expr) -> str:  # noqa: PLR0911 - one return per kind of node
    """The expression as PromQL. `@` is not printed: it is refused before anything is derived."""
    match node:
        case promql.NumberLiteral():
            return _number(node.val)
        case promql.StringLiteral():
            return quote(node.val)
        case promql.VectorSelector():
            return selector(node).instant
        case promql.MatrixSelector():
            return selector(node.vector_selector).over(_seconds(node.range))
        case promql.SubqueryExpr():
            return f"({show(node.expr)}){span(node)}"
        case promql.ParenExpr():
            return show(node.expr)
        case promql.UnaryExpr():
            return f"(-{show(node.expr)})"
        case promql.BinaryExpr():
            return _binary(node)
        case promql.Call():
            return f"{node.func.name}({', '.join(map(show, node.args))})"
        case promql.AggregateExpr():
            inside = show(node.expr) if node.param is None else f"{show(node.param)}, {show(node.expr)}"
            return f"{node.op}{grouping(node.modifier)}({inside})"
    raise AssertionError(f"a node promql-parser 0.12 does not have: {type(node)}")


def span(node: promql.SubqueryExpr) -> str:
    """What follows a subquery's expression: range, step, offset."""
    step = duration(_seconds(node.step)) if node.step else ""
    return f"[{duration(_seconds(node.range))}:{step}]{_offset(_seconds(node.offset))}"


def _binary(node: promql.BinaryExpr) -> str:
    as_value = " bool" if node.modifier and node.modifier.return_bool else ""
    return f"({show(node.lhs)} {node.op}{as_value}{matching(node.modifier)}{show(node.rhs)})"


def _number(value: float) -> str:
    if value != value:  # noqa: PLR0124 - NaN is the number that differs from itself
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Inf" if value > 0 else "-Inf"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
