"""One query, several kinds of row. Law: value, sample time and the server's clock come from one evaluation.

Kinds are told apart by the label `fresh_q`: no label: a value; `t0`, `t1` …: when that leaf was sampled; `c0`, `c1` …:
inputs of that leaf that vanished; `now`: the server's own `time()`. Queries for device rows tag their values too: `v0`,
`v1` …, one per family. `or` drops a row whose labels equal those of an earlier one (it does not look at names), which
is why every kind needs its tag.
"""

from collections.abc import Sequence

from adapter.promql.text import quote

TAG = "fresh_q"
VALUE, TIMES, VANISHED, NOW = "v", "t", "c", "now"


def tagged(expression: str, tag: str) -> str:
    return f'label_replace({expression}, "{TAG}", "{tag}", "", "")'


def joined(parts: Sequence[str]) -> str:
    """All rows of all parts, and the clock."""
    return _either([*parts, tagged("vector(time())", NOW)])


def _either(parts: Sequence[str]) -> str:
    """By halves: a chain of `or` hashes its left rows again at every link, half as slow again with 24 parts."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_either(parts[:half])}\nor {_either(parts[half:])})"


def device_rows(families: Sequence[str], matchers: Sequence[str] = ()) -> str:
    """Every series of the families with all its labels: value rows tagged `v`, time rows `t`, with the family's index.

    `matchers` are PromQL matchers as text (`namespace="a"`), the same for all. Time rows come without the metric name.
    A name is written as a matcher, which every version understands, whatever characters it holds.
    """
    parts = []
    for index, family in enumerate(families):
        selector = f"{{{','.join([f'__name__={quote(family)}', *matchers])}}}"
        parts += [tagged(selector, f"{VALUE}{index}"), tagged(f"timestamp({selector})", f"{TIMES}{index}")]
    return joined(parts)
