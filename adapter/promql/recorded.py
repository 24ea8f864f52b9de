"""Recording rules followed to what they read. Law: a recorded sample is as old as itself and its sources together.

A rule's fresh timestamp says only that the rule ran: its sources may have been minutes old by then. So a recorded name
is expanded, rule by rule, to the selectors that no rule records. Matchers that the outer query puts on the recorded
series are not carried inward: a wider set of sources can only make the age greater.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from adapter.core.errors import UndatableQuery
from adapter.promql.parse import parse
from adapter.promql.tree import Read, reads


class RecordingRule(NamedTuple):
    """One rule as `/api/v1/rules` lists it; `interval` in seconds is its group's."""

    name: str
    query: str
    interval: float


@dataclass(frozen=True, slots=True)
class Sources:
    """`selectors`: instant selectors of the raw series, each once; `interval`: seconds, the rules' intervals along the
    longest path, which is how long a source's sample can take to reach the recorded series; `window`: seconds, the
    ranges along the longest path, for which a source that is gone still shows in it.
    """

    selectors: tuple[str, ...]
    interval: float
    window: float = 0.0


def sources_read(may_read: Callable[[str], bool], rules: Mapping[str, Sequence[RecordingRule]]) -> Sources | None:
    """What the recorded ones of the series that a selector may read are made of; None: no rule writes any of them.

    Raises UndatableQuery as `sources_of`.
    """
    found = [sources_of(name, rules) for name in rules if may_read(name)]
    return _together(found) if found else None


def _together(found: Sequence[Sources]) -> Sources:
    selectors = dict.fromkeys(selector for sources in found for selector in sources.selectors)
    longest = max(sources.interval for sources in found)
    return Sources(tuple(selectors), longest, max(sources.window for sources in found))


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
    above = above | {name}
    found = [_through(rule, read, rules, above) for rule in rules[name] for read in _reads(rule)]
    return _together(found)


def _through(
    rule: RecordingRule, read: Read, rules: Mapping[str, Sequence[RecordingRule]], above: frozenset[str]
) -> Sources:
    """What one selector of a rule adds: itself, unless a rule writes it, and what is below the rules that it reads."""
    selector = read.selector.back(read.shift)
    own = () if selector.metric in rules else (selector.instant,)
    below = [_follow(each, rules, above) for each in rules if selector.may_read(each) and each not in above]
    deeper = _together([Sources(own, 0.0), *below])
    return Sources(deeper.selectors, rule.interval + deeper.interval, (read.window or 0.0) + deeper.window)


def _reads(rule: RecordingRule) -> list[Read]:
    try:
        return list(reads(parse(rule.query)))
    except UndatableQuery as error:
        raise UndatableQuery(
            rule.query, error.construct, f"in the recording rule {rule.name}, {error.why}", error.remedy
        ) from error
