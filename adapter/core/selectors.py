"""Label selectors, read, matched and written exactly as Kubernetes does it.

Law: a text that Kubernetes accepts means here what it means there, one that it refuses is refused in its words, and
`parse(str(selector)) == selector`. Facts: k8s.io/apimachinery v0.37, pkg/labels/selector.go (lexer, parser, matching,
String) and pkg/apis/meta/v1/helpers.go (the LabelSelector object).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from adapter.core.errors import SelectorError
from adapter.core.labels import invalid, key_faults, value_faults

Operator = Literal["in", "notin", "=", "==", "!=", "gt", "lt", "exists", "!"]

_BINARY: Final[dict[str, Operator]] = {
    "in": "in",
    "notin": "notin",
    "=": "=",
    "==": "==",
    "!=": "!=",
    ">": "gt",
    "<": "lt",
}
_SIGNS: Final[dict[Operator, str]] = {operator: sign for sign, operator in _BINARY.items()}
_EXPRESSIONS: Final[dict[Operator, str]] = {
    "in": "In",
    "notin": "NotIn",
    "!=": "NotIn",
    "exists": "Exists",
    "!": "DoesNotExist",
}
_SYMBOLS: Final = frozenset({"", "=", "==", "!=", "!", "(", ")", ",", "<", ">"})
# A NUL is the lexer's mark for the end: it ends the text where a token could start, and elsewhere parts two tokens.
_TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n\0]+|)\0?")
_INT64: Final = re.compile(r"([+-]?)0*([0-9]{1,19})")


class Requirement(NamedTuple):
    """One condition on one label.

    `values` is sorted and without repeats: empty for `exists` and `!`, one or more for `in` and `notin`, else exactly
    one. The empty text is a value like any other.
    """

    key: str
    operator: Operator
    values: tuple[str, ...]

    def matches(self, labels: Mapping[str, str]) -> bool:
        """`!=` and `notin` also hold where the key is missing; `gt` and `lt` only between two 64-bit integers."""
        value = labels.get(self.key)
        match self.operator:
            case "in" | "=" | "==":
                return value in self.values
            case "notin" | "!=":
                return value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case "gt" | "lt":
                have, bound = _int64(value or ""), _int64(self.values[0])
                low, high = (bound, have) if self.operator == "gt" else (have, bound)
                return low is not None and high is not None and low < high

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(self.values)})"
            case _:
                return f"{self.key}{_SIGNS[self.operator]}{self.values[0]}"


@dataclass(frozen=True, slots=True)
class Selector:
    """All of `requirements`, in the order of their keys; without any it selects everything."""

    requirements: tuple[Requirement, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether everything is selected."""
        return not self.requirements

    @property
    def equalities(self) -> tuple[tuple[str, str], ...]:
        """The (key, value) pairs that every selected object carries: what an index by label can look up."""
        return tuple(
            (key, values[0])
            for key, operator, values in self.requirements
            if operator in {"=", "==", "in"} and len(values) == 1
        )

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING: Final = Selector()


@lru_cache(maxsize=512)
def parse(text: str) -> Selector:
    """The selector that `text` writes; raises SelectorError in the words of Kubernetes' `labels.Parse`."""
    return Selector(tuple(sorted(_requirements(_Tokens(text)), key=lambda requirement: requirement.key)))


def as_object(selector: Selector) -> dict[str, object] | None:
    """The LabelSelector object of an answer, as `metav1.ParseToLabelSelector` builds it; None for the empty selector.

    Differs in one point: Kubernetes refuses `!=` there, we write the NotIn that it means.
    Raises SelectorError for `>` and `<`, which a LabelSelector cannot say.
    """
    labels: dict[str, str] = {}
    expressions: list[dict[str, object]] = []
    for key, operator, values in selector.requirements:
        if operator in {"=", "=="}:
            labels[key] = values[0]
        elif operator in _EXPRESSIONS:
            of_values: dict[str, object] = {"values": list(values)} if values else {}
            expressions.append({"key": key, "operator": _EXPRESSIONS[operator], **of_values})
        else:
            raise SelectorError(f'"{operator}" isn\'t supported in label selectors')
    parts = (("matchLabels", labels), ("matchExpressions", expressions))
    return {name: part for name, part in parts if part} or None


class _Tokens:
    """The words and symbols of a selector, in order; "" is the end. `in` and `notin` are words: they may be keys."""

    def __init__(self, text: str) -> None:
        self._rest: Iterator[str] = iter(_TOKEN.findall(text))
        self.next = next(self._rest)

    def take(self) -> str:
        taken, self.next = self.next, next(self._rest) if self.next else ""
        return taken


def _requirements(tokens: _Tokens) -> Iterator[Requirement]:
    if not tokens.next:
        return
    if not _opens(tokens.next):
        raise SelectorError(f"found '{tokens.next}', expected: !, identifier, or 'end of string'")
    while True:
        yield _requirement(tokens)
        match tokens.take():
            case "":
                return
            case "," if _opens(tokens.next):
                continue
            case ",":
                raise SelectorError(f"found '{tokens.next}', expected: identifier after ','")
            case other:
                raise SelectorError(f"found '{other}', expected: ',' or 'end of string'")


def _requirement(tokens: _Tokens) -> Requirement:
    first = tokens.take()
    key = tokens.take() if (negated := first == "!") else first
    if not _is_word(key):
        raise _refused(f"found '{key}', expected: identifier")
    if faults := key_faults(key):
        raise _refused(invalid("<nil>", key, "; ".join(faults)))
    if negated or tokens.next in {"", ","}:
        return Requirement(key, "!" if negated else "exists", ())
    sign = tokens.take()
    operator = _BINARY.get(sign)
    if operator is None:
        raise _refused(f"found '{sign}', expected: in, notin, =, ==, !=, gt, lt")
    values = _values(tokens) if operator in {"in", "notin"} else {_value(tokens)}
    return _checked(Requirement(key, operator, tuple(sorted(values))))


def _value(tokens: _Tokens) -> str:
    if tokens.next in {"", ","}:
        return ""
    value = tokens.take()
    if not _is_word(value):
        raise _refused(f"found '{value}', expected: identifier")
    return value


def _values(tokens: _Tokens) -> set[str]:
    """The set in parentheses, in which a missing word is the empty value: `()`, `(,a)`, `(a,,b)`, `(a,)`."""
    opening = tokens.take()
    if opening != "(":
        raise _refused(f"found '{opening}' expected: '('")
    if tokens.next not in {")", ","} and not _is_word(tokens.next):
        raise _refused(f"found '{tokens.next}', expected: ',', ')' or identifier")
    values: set[str] = set()
    while tokens.next != ")":
        _take_value(tokens, values)
    tokens.take()
    return values or {""}


def _take_value(tokens: _Tokens, values: set[str]) -> None:
    found = tokens.take()
    if _is_word(found):
        values.add(found)
        if tokens.next not in {")", ","}:
            raise _refused(f"found '{tokens.next}', expected: ',' or ')'")
    elif found != ",":
        raise _refused(f"found '{found}', expected: ',', or identifier")
    elif not values or tokens.next in {")", ","}:
        values.add("")


def _opens(found: str) -> bool:
    return found == "!" or _is_word(found)


def _is_word(found: str) -> bool:
    return found not in _SYMBOLS


def _checked(requirement: Requirement) -> Requirement:
    key, operator, values = requirement
    errors: list[str] = []
    if operator in {"gt", "lt"} and _int64(values[0]) is None:
        errors.append(invalid("values[0]", values[0], "for 'Gt', 'Lt' operators, the value must be an integer"))
    for index, value in enumerate(values):
        if faults := value_faults(value):
            errors.append(invalid(f"values[{index}][{key}]", value, "; ".join(faults)))
    if errors:
        raise _refused(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return requirement


def _int64(text: str) -> int | None:
    found = _INT64.fullmatch(text)
    number = int(found[1] + found[2]) if found else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _refused(why: str) -> SelectorError:
    return SelectorError(f"unable to parse requirement: {why}")
