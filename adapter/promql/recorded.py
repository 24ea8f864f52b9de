"""Recording rules followed to what they read. Law: a recorded sample is as old as itself and its sources together.

A rule's fresh timestamp says only that the rule ran: its sources may have been minutes old by then. So a recorded name
is expanded, rule by rule, to the selectors that no rule records. Matchers that the outer query puts on the recorded
series are not carried inward: a wider set of sources can only make the age greater.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from adapter.core.errors import UndatableQuery
from adapter.promql.parse import parse
from adapter.promql.text import Selector
from adapter.promql.tree import reads


class RecordingRule(NamedTuple):
    """One rule as `/api/v1/rules` lists it; `interval` in seconds is its group's."""

    name: str
    query: str
    interval: float


@dataclass(frozen=True, slots=True)
class Sources:
    """`selectors`: instant selectors of the raw series, each once; `interval`: seconds, the rules' intervals along the
    longest path, which is how long a source's sample can take to reach the recorded series.
    """

    selectors: tuple[str, ...]
    interval: float


def sources_of(name: str, rules: Mapping[str, Sequence[RecordingRule]]) -> Sources:
    """What the recorded series `name` is made of. A rule that reads its own output adds nothing by that.

    Raises UndatableQuery where no such rule is known, where a rule makes values up, or where nothing but rules is
    found.
    """
    if name not in rules:
        raise UndatableQuery(
            name, name, "the server lists no rule that records it", "name its sources, or say that it is raw"
        )
    found = _follow(name, rules, frozenset())
    if not found.selectors:
        raise UndatableQuery(name, name, "its rules read no series but their own", "query the series that are scraped")
    return found


def _follow(name: str, rules: Mapping[str, Sequence[RecordingRule]], above: frozenset[str]) -> Sources:
    selectors: dict[str, None] = {}
    longest = 0.0
    above = above | {name}
    for rule in rules[name]:
        below = 0.0
        for selector in _selectors(rule):
            if selector.metric not in rules:
                selectors[selector.instant] = None
            for recorded in (each for each in rules if selector.may_read(each) and each not in above):
                deeper = _follow(recorded, rules, above)
                selectors |= dict.fromkeys(deeper.selectors)
                below = max(below, deeper.interval)
        longest = max(longest, rule.interval + below)
    return Sources(tuple(selectors), longest)


def _selectors(rule: RecordingRule) -> list[Selector]:
    try:
        return [read.selector.back(read.shift) for read in reads(parse(rule.query))]
    except UndatableQuery as error:
        raise UndatableQuery(
            rule.query, error.construct, f"in the recording rule {rule.name}, {error.why}", error.remedy
        ) from error
