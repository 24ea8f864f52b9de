"""Device rows of one evaluation become looks: the newest scrape of each target is one. Pure.

A target is a (job, instance), as at Prometheus: one instance under two jobs is scraped twice, each at its own pace.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from adapter.core.lag import Heard, Lag, born
from adapter.core.samples import Look, Row
from adapter.promql.rows import EQUAL_TIMES, TAG, TIMES, VALUE
from adapter.sources.dated import NAME
from adapter.sources.promapi import Sample, Series

Target = tuple[str, str]  # job, instance; "" where the series lack it
Identity = tuple[
    tuple[str, ...], tuple[str, ...]
]  # names and values, in the order in which servers print both kinds of row


def target_of(sample: Sample | Series) -> Target:
    return sample.labels.get("job", ""), sample.labels.get("instance", "")


def name_of(target: Target) -> str:
    """`job/instance`, or the one of them that there is."""
    return "/".join(part for part in target if part)


def newest(samples: Iterable[Sample]) -> dict[Target, float]:
    """When each target was last scraped, by the server's clock, from the rows that `newest_rows` asks for."""
    return {target_of(sample): sample.value for sample in samples if sample.labels.get(TAG) == f"{TIMES}0"}


class Times:
    """When each row was sampled, by family's index: of each series, or of all series of a target at once."""

    def __init__(self) -> None:
        self._of_series: dict[tuple[str, Identity], float] = {}
        self._of_target: dict[tuple[str, Target], float] = {}

    def hear(self, tag: str, sample: Sample) -> None:
        if tag[:1] == TIMES:
            self._of_series[tag[1:], _identity(sample)] = sample.value
        elif tag[:1] == EQUAL_TIMES:
            self._of_target[tag[1:], target_of(sample)] = sample.value

    def of(self, index: str, target: Target, identity: Identity) -> float | None:
        at = self._of_series.get((index, identity))
        return self._of_target.get((index, target)) if at is None else at


def looks(
    samples: Iterable[Sample], families: Sequence[str], source: str, heard: Heard, lag: Lag
) -> dict[Target, Look]:
    """Device rows by target: each target's newest scrape is one look.

    A row older than its target's newest is a device that the newest scrape did not show.
    """
    values: list[tuple[str, Sample]] = []
    times = Times()
    for sample in samples:
        tag = sample.labels.get(TAG, "")
        if tag[:1] == VALUE:
            values.append((tag, sample))
        else:
            times.hear(tag, sample)
    scrapes: dict[Target, dict[float, list[Row]]] = defaultdict(lambda: defaultdict(list))
    labels: dict[Identity, dict[str, str]] = {}  # a device's families share one mapping
    for tag, sample in values:
        identity, target = _identity(sample), target_of(sample)
        at = times.of(tag[1:], target, identity)
        if at is not None:
            if identity not in labels:
                labels[identity] = {key: value for key, value in zip(*identity, strict=True) if value}
            scrapes[target][at].append(Row(families[int(tag[1:])], labels[identity], sample.value))
    return {target: _look(target, by_time, source, heard, lag) for target, by_time in scrapes.items()}


def _look(target: Target, by_time: dict[float, list[Row]], source: str, heard: Heard, lag: Lag) -> Look:
    stamp = max(by_time)
    return Look(source, name_of(target), stamp, born(heard, lag, stamp), 0.0, tuple(by_time[stamp]))


def _identity(sample: Sample) -> Identity:
    """All labels beside the name and the tag."""
    labels = dict(sample.labels)
    labels.pop(NAME, None)
    labels.pop(TAG, None)
    return tuple(labels), tuple(labels.values())
