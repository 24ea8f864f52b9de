"""One query, several kinds of row. Law: value, sample time and the server's clock come from one evaluation.

Kinds are told apart by the label `fresh_q`: no label: a value; `t0`, `t1` …: when that leaf was sampled; `c0`, `c1` …:
inputs of that leaf that vanished; `now`: the server's own `time()`; `s0`, `s1` …: when the sources of a recorded series
were sampled. Queries for device rows tag their values too: `v0`, `v1` …, one per family. `or` drops a row whose labels
equal those of an earlier one (it does not look at names): so every kind has its tag, and values come last, since what
is scraped may carry the tag's name as a label of its own, and must not take the place of a row of ours.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from adapter.promql.text import duration, quote

_SPECIAL: Final = re.compile(r"[\\.+*?()|\[\]{}^$]")  # in RE2; re.escape escapes more, which hides plain alternatives
TAG = "fresh_q"
VALUE, TIMES, EQUAL_TIMES, VANISHED, SOURCE, NOW = "v", "t", "e", "c", "s", "now"


def tagged(expression: str, tag: str) -> str:
    return f'label_replace({expression}, "{TAG}", "{tag}", "", "")'


def joined(parts: Sequence[str]) -> str:
    """The clock, and all rows of all parts."""
    return _either([tagged("vector(time())", NOW), *parts])


def numbered(query: str, number: str) -> str:
    """The query, its clock row tagged with a number too: an answer that lacks it was given to another question."""
    return query.replace(f'"{TAG}", "{NOW}"', f'"{TAG}", "{NOW}{number}"', 1)


def _either(parts: Sequence[str]) -> str:
    """By halves: a chain of `or` hashes its left rows again at every link, half as slow again with 24 parts."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_either(parts[:half])}\nor {_either(parts[half:])})"


def source_times(selectors: Sequence[str], labels: Sequence[str], gone: float = 0.0) -> str:
    """The oldest sample time of every selector by these labels, tagged `s` with the selector's index.

    gone: seconds for which also what is no longer there is told of, by the last of its times, to a sixtieth of that.
    """
    by = f"by ({', '.join(labels)})"
    parts = []
    for index, selector in enumerate(selectors):
        times = f"min {by} (timestamp({selector}))"
        if gone:
            span = f"[{duration(gone)}:{duration(max(gone / 60, 1.0))}]"
            times = f"({times} or max {by} (max_over_time(timestamp({selector}){span})))"
        parts.append(tagged(times, f"{SOURCE}{index}"))
    return joined(parts)


def device_rows(families: Sequence[str], matchers: Sequence[str] = ()) -> str:
    """Every series of the families with all its labels: value rows tagged `v`, time rows `t`, with the family's index.

    `matchers` are PromQL matchers as text (`namespace="a"`), the same for all. Time rows come without the metric name.
    A name is written as a matcher, which every version understands, whatever characters it holds.
    """
    parts = []
    for index, family in enumerate(families):
        selector = _selector(family, matchers)
        parts += [tagged(selector, f"{VALUE}{index}"), tagged(f"timestamp({selector})", f"{TIMES}{index}")]
    return joined(parts)


def device_rows_at(targets: Sequence[tuple[str, str]], families: Sequence[str]) -> str:
    """As `device_rows`, for many targets: where a family has one sample time at a target, it is told once.

    That is one row tagged `e` with job and instance alone. Only where they differ does every series have its time row.
    """
    parts = []
    for index, family in enumerate(families):
        selector = _selector(family, of_targets(targets))
        newest, oldest = (f"{of} by (job, instance) (timestamp({selector}))" for of in ("max", "min"))
        differ = f"timestamp({selector}) and on (job, instance) ({newest} != {oldest})"
        parts += [
            tagged(selector, f"{VALUE}{index}"),
            tagged(f"({newest} == {oldest})", f"{EQUAL_TIMES}{index}"),
            tagged(f"({differ})", f"{TIMES}{index}"),
        ]
    return joined(parts)


def newest_rows(families: Sequence[str]) -> str:
    """One row tagged `t0` for each (job, instance): the newest sample time of all its series of the families."""
    each = [
        tagged(f"max by (job, instance) (timestamp({_selector(family)}))", f"{TIMES}{index}")
        for index, family in enumerate(families)
    ]
    return joined([tagged(f"max by (job, instance) ({_either(each)})", f"{TIMES}0")])


def sample_rows(families: Iterable[str], matchers: Sequence[str], window: str) -> str:
    """The samples themselves of every series of the families, as a range selector."""
    return f"{{{','.join([_any_of('__name__', families), *matchers])}}}[{window}]"


def of_targets(targets: Iterable[tuple[str, str]]) -> list[str]:
    """Matchers for these (job, instance), "" where a target has none; they also fit what crosses one with another."""
    jobs, instances = zip(*targets, strict=True)
    return [_any_of("job", jobs), _any_of("instance", instances)]


def _selector(family: str, matchers: Sequence[str] = ()) -> str:
    return f"{{{','.join([f'__name__={quote(family)}', *matchers])}}}"


def _any_of(label: str, values: Iterable[str]) -> str:
    alternatives = (_SPECIAL.sub(r"\\\g<0>", value) for value in sorted(set(values)))
    return f"{label}=~{quote('|'.join(alternatives))}"
