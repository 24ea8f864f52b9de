"""Random PromQL that a plan exists for, written as people write it."""

from hypothesis import strategies as st

_LABELS = ("namespace", "pod", "gpu")
_names = st.sampled_from(["x", "y", "job:x:sum", "DCGM_FI_DEV_GPU_UTIL"])
_values = st.sampled_from(['"a"', "'it\\'s'", '"quo\\"te"', "`raw\\n`", '"new\\nline"', '"ü"'])
_durations = st.sampled_from(["30s", "5m", "1h30m", "1500ms", "1m30s"])
_labels = st.lists(st.sampled_from(_LABELS), unique=True, max_size=2).map(", ".join)
_row_functions = st.sampled_from(["abs", "ceil", "sgn", "sort_desc", "day_of_week", "-"])
_range_functions = st.sampled_from(["rate", "increase", "max_over_time", "last_over_time", "changes"])
_aggregations = st.sampled_from(["sum", "avg", "max", "count", "stddev"])
_operators = st.sampled_from(["+", "-", "*", "/", "%", "^", "atan2"])
_comparisons = st.sampled_from([">", "<=", "==", "!= bool"])


@st.composite
def _selectors(draw: st.DrawFn) -> str:
    matchers = draw(st.lists(st.tuples(st.sampled_from(_LABELS), st.sampled_from(["=", "!="]), _values), max_size=2))
    inside = ", ".join(f"{label}{operator}{value}" for label, operator, value in matchers)
    return f"{draw(_names)}{{{inside}}}" if inside else draw(_names)


def _offset() -> st.SearchStrategy[str]:
    return st.one_of(st.just(""), _durations.map(lambda duration: f" offset {duration}"))


_instants = st.builds(lambda selector, offset: f"{selector}{offset}", _selectors(), _offset())
_ranges = st.builds(
    lambda function, selector, window, offset: f"{function}({selector}[{window}]{offset})",
    _range_functions,
    _selectors(),
    _durations,
    _offset(),
)
_matchings = st.one_of(
    st.just(""),
    st.builds(lambda kind, labels: f" {kind} ({labels})", st.sampled_from(["on", "ignoring"]), _labels),
)
_joinings = st.one_of(
    _matchings,
    st.builds(
        lambda kind, labels, side, lent: f" {kind} ({labels}) group_{side} ({lent})",
        st.sampled_from(["on", "ignoring"]),
        _labels,
        st.sampled_from(["left", "right"]),
        st.sampled_from(["", "team", "team, tier"]),
    ),
)
_groupings = st.one_of(
    st.just(""), st.builds(lambda kind, labels: f" {kind} ({labels}) ", st.sampled_from(["by", "without"]), _labels)
)


# What stands in for missing rows must depend on what was measured.
_measured = st.one_of(
    _instants,
    _ranges,
    st.builds(lambda function, by, arg: f"{function}{by}({arg})", _aggregations, _groupings, _instants),
)


def _above(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds(lambda function, arg: f"{function}({arg})", _row_functions, part),
        st.builds(lambda function, by, arg: f"{function}{by}({arg})", _aggregations, _groupings, part),
        st.builds(lambda by, arg: f"topk{by}(3, {arg})", _groupings, part),
        st.builds(lambda arg: f"histogram_quantile(0.9, {arg})", part),
        st.builds(lambda arg: f'label_replace({arg}, "pod", "$1\\n", "gpu", "(.*)")', part),
        st.builds(lambda left, op, how, right: f"({left}) {op}{how} ({right})", part, _operators, _joinings, part),
        st.builds(lambda left, op, right: f"({left}) {op} ({right})", part, _comparisons, part),
        st.builds(lambda arg, op, number: f"({arg}) {op} {number}", part, _comparisons, st.sampled_from(["5", "1e3"])),
        st.builds(lambda number, op, arg: f"{number} {op} ({arg})", st.just("time()"), _operators, part),
        st.builds(lambda arg, other: f"({arg}) / scalar({other})", part, part),
        st.builds(
            lambda left, op, how, right: f"({left}) {op}{how} ({right})",
            part,
            st.sampled_from(["and", "unless"]),
            _matchings,
            part,
        ),
        st.builds(lambda left, how, right: f"({left}) or{how} ({right})", part, _matchings, _measured),
    )


dated = st.recursive(st.one_of(_instants, _ranges), _above, max_leaves=6)
_no_or = dated.filter(lambda text: ") or" not in text)
subqueries = st.builds(
    lambda function, part, window, step, offset: f"{function}(({part})[{window}:{step}]{offset})",
    _range_functions,
    _no_or,
    _durations,
    st.sampled_from(["", "10s"]),
    _offset(),
)
expressions = st.one_of(dated, subqueries)
