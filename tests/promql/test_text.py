"""What is printed is PromQL and means what was parsed, where the parser's own printing does not."""

import promql_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.promql.text import duration, quote, show

PRINTED = [
    ("escapes", r'x{a="q\"\\d\n"}', r'x{a="q\"\\d\n"}'),
    ("single quotes", """x{a='it"s'}""", r'x{a="it\"s"}'),
    ("raw string", r"x{a=`\n`}", r'x{a="\\n"}'),
    ("milliseconds", "rate(x[1s500ms] offset 1ms)", "rate(x[1500ms] offset 1ms)"),
    ("subquery's default step", "rate(x[5m:])", "rate((x)[5m:])"),
    ("subquery of an offset", "rate((x offset 1m)[5m:10s] offset -1h)", "rate((x offset 1m)[5m:10s] offset -1h)"),
    ("precedence", "-a ^ b * c + d", "(((-(a ^ b)) * c) + d)"),
    ("grouped minus", "(-a) ^ b", "((-a) ^ b)"),
    ("set operators", "a or b and c unless d", "(a or ((b and c) unless d))"),
    ("matching", "a / ignoring () group_right (b) c", "(a / ignoring () group_right (b) c)"),
    ("bool", "a == bool on (b) c", "(a == bool on (b) c)"),
    ("numbers", "x + 1e3 - 0.5 * Inf ^ NaN % -Inf", "((x + 1000) - ((0.5 * (Inf ^ NaN)) % -Inf))"),
    ("parameter", "topk(2, x) by (a)", "topk by (a) (2, x)"),
    ("quoted label", 'sum by ("a.b", c) (x)', 'sum by ("a.b", c) (x)'),
    ("alternatives", '{a="b" or c="d"}', '{a="b" or c="d"}'),
]


@pytest.mark.parametrize(("written", "printed"), [case[1:] for case in PRINTED], ids=[case[0] for case in PRINTED])
def test_printing_keeps_the_meaning(written: str, printed: str) -> None:
    assert show(promql_parser.parse(written)) == printed


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_any_string_survives_quoting(text: str) -> None:
    selector = promql_parser.parse(f"x{{a={quote(text)}}}")
    assert isinstance(selector, promql_parser.VectorSelector)
    assert [matcher.value for matcher in selector.matchers.matchers] == [text]


@given(st.integers(min_value=1, max_value=10**9))
def test_durations_are_exact_to_the_millisecond(milliseconds: int) -> None:
    assert promql_parser.parse_duration(duration(milliseconds / 1000)).total_seconds() == milliseconds / 1000


@pytest.mark.parametrize(
    ("seconds", "text"), [(300, "5m"), (90, "90s"), (1.5, "1500ms"), (86400, "1d"), (-10, "-10s"), (0, "0ms")]
)
def test_durations_use_the_largest_unit_that_divides_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
