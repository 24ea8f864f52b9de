"""The time a healthy system needs, as a sum of named terms, and the limits that follow from it.

A limit below that sum would withhold healthy values; one far above it would serve frozen ones. `auto` is the sum plus
one missed look or one late collect, whichever is longer; a whole skipped collect is not forgiven.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

HPA_SYNC_PERIOD = 15.0  # kube-controller-manager --horizontal-pod-autoscaler-sync-period
DCGM_COLLECT_INTERVAL = 30.0  # dcgm-exporter -c / DCGM_EXPORTER_INTERVAL, default in every version
WORTH_A_REMEDY = 5.0  # seconds; a shorter term is as low as people set it
READ_TIME = 0.5  # what a read may take before it is worth a line of configuration
UNKNOWN_SCRAPE_INTERVAL = 60.0  # until the targets API or the samples tell
CONTAINER_SETTLES = 5.0  # a reading of a pod must be born this long after its container started

_SCRAPE_REMEDY = "lower the scrape interval of this target in Prometheus"

Pages = Literal["live", "ticker"]


class Term(NamedTuple):
    """One part of the worst healthy age; seconds."""

    name: str
    seconds: float
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Budget:
    """Worst healthy age of one metric from one source, and what is forgiven on top. Seconds."""

    terms: tuple[Term, ...]
    slack: float

    @property
    def worst_healthy_age(self) -> float:
        return sum(term.seconds for term in self.terms)

    @property
    def limit(self) -> float:
        """`maxAge: auto`, in whole seconds, rounded up."""
        return float(math.ceil(self.worst_healthy_age + self.slack - 1e-9))

    def explain(self) -> str:
        """The sum in words: `36.5s = collect 30s + 2 × look 6s + read 0.5s`."""
        parts = " + ".join(f"{term.name} {seconds(term.seconds)}" for term in self.terms if term.seconds)
        return f"{seconds(self.worst_healthy_age)} = {parts}"

    @property
    def dominant(self) -> Term:
        return max(self.terms, key=lambda term: term.seconds)


def ttl(sync_period: float, interval: float, targets: int = 0) -> float:
    """How often to read: a fifth of the shorter of the HPA's period and the source's, 1 to 5 s.

    For direct reads at least a millisecond per target, so that one core keeps up with any fleet.
    """
    return max(min(max(min(sync_period, interval) / 5, 1.0), 5.0), targets / 1000)


def direct(collect: float, poll: float, read: float = READ_TIME, behind: float = 0.0) -> Budget:
    """Exporter pages that we read ourselves: a value waits for the next collect, and is dated by the look before it.

    behind: what a page shows later than it was collected (ticker pages: one collect interval).
    """
    terms = (
        Term("collect", collect, "set the exporter's collect interval (DCGM_EXPORTER_INTERVAL, -c) to 5 s"),
        Term("ticker page", behind, "say pages: live if the exporters are 4.0 or newer"),
        Term("two polls", 2 * poll, "lower sources.dcgm.poll"),
        Term("read", read, "lower sources.dcgm.readTime once the exporter answers faster"),
    )
    return Budget(terms, max(poll, collect / 4))


def profile(collect: float, scrape: float, read: float, ttl: float, behind: float = 0.0) -> Budget:
    """GPU rows that Prometheus scraped: as `direct`, looked at by its scrapes, and read by us every `ttl`."""
    terms = (
        Term("collect", collect, "set the exporter's collect interval (DCGM_EXPORTER_INTERVAL, -c) to 5 s"),
        Term("ticker page", behind, "say pages: live if the exporters are 4.0 or newer"),
        Term("two scrapes", 2 * scrape, _SCRAPE_REMEDY),
        Term("read", read, "lower sources.prometheus.readTime once the server answers faster"),
        Term("cache", ttl, "lower cache.ttl"),
    )
    return Budget(terms, max(scrape, collect / 4))


def query(scrape: float, ttl: float, read: float = READ_TIME, refresh: float = 0.0) -> Budget:
    """Any other PromQL: the sample time is known, what the exporter lags behind it only if configured."""
    terms = (
        Term("exporterRefresh", refresh, "let the exporter refresh more often"),
        Term("scrape", scrape, _SCRAPE_REMEDY),
        Term("read", read, "lower sources.prometheus.readTime once the server answers faster"),
        Term("cache", ttl, "lower cache.ttl"),
    )
    return Budget(terms, max(scrape, refresh / 4))


def refusal(max_age: float, budgets: dict[str, Budget]) -> str | None:
    """Why an explicit limit is refused: it is below what every one of its sources needs in health. None: it is fine."""
    if any(max_age >= budget.worst_healthy_age for budget in budgets.values()):
        return None
    needs = "; ".join(f"{source} needs {budget.explain()}" for source, budget in budgets.items())
    source, best = min(budgets.items(), key=lambda item: item[1].worst_healthy_age)
    dominant = best.dominant
    remedy = f", or {dominant.remedy} ({source})" if dominant.seconds > WORTH_A_REMEDY else ""
    return (
        f"maxAge {seconds(max_age)} is below the worst healthy age, so healthy values would be withheld: {needs}. "
        f"Raise it to at least {seconds(math.ceil(best.worst_healthy_age))}{remedy}"
    )


def seconds(value: float) -> str:
    """A duration for people: at most one decimal, `44s`, `8.8s`."""
    return f"{value:.1f}".removesuffix(".0") + "s"
