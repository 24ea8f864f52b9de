"""What a refused answer says to the person who reads `kubectl describe hpa`.

The metric, how many have a value, the youngest age, its limit, the commonest reason with its cause, and what to do.
"""

from collections import Counter
from collections.abc import Sequence

from adapter.core.ask import Ask
from adapter.core.points import ObjectKey, Reason, Withheld
from adapter.core.snapshot import Snapshot
from adapter.core.timing import seconds

REMEDIES = {
    Reason.STALE: "check that the source is reachable and still produces this metric",
    Reason.FROZEN: "restart that exporter: it answers, but has stopped collecting",
    Reason.MISSING: "check that the source exports this metric for these objects",
    Reason.PENDING: "wait: a first value needs the exporter to collect twice",
    Reason.PARTIAL: "find out where the missing inputs went",
    Reason.BLANK: "the driver gives no value: look at the GPU's health",
    Reason.OUT_OF_RANGE: "the driver or exporter prints garbage: look at the GPU's health",
    Reason.NOT_A_NUMBER: "guard the query against division by zero, or repair the exporter",
    Reason.IMPLAUSIBLE_ZERO: "the exporter's zero is false: restart it, and look at the GPU's health",
    Reason.MAPPING_LOST: "restart that exporter, or repair its access to the kubelet's pod-resources socket",
    Reason.NOT_OWNER: "the exporter's pod labels are wrong or old: restart it",
    Reason.SHARED_UNATTRIBUTABLE: "give each pod a GPU or a MIG instance of its own",
    Reason.AMBIGUOUS: "make the query return one series per object",
    Reason.FUTURE: "set the clocks right (NTP)",
    Reason.SOURCE_PARTIAL: "the server answers incompletely: look at its warnings",
    Reason.SOURCE_ERROR: "see the adapter's log for this source",
    Reason.UNTRUSTED: "name the metric in the adapter's configuration to vouch for it",
    Reason.UNIT_UNKNOWN: "state the metric's scale in the adapter's configuration",
    Reason.UNSUPPORTED: "use a metric that this device has, or set heartbeat: none if a freeze need not be seen",
}


def explain(
    ask: Ask,
    covered: int,
    total: int,
    withheld: Sequence[tuple[ObjectKey, Withheld]],
    snapshots: Sequence[Snapshot],
    now: float,
) -> str:
    """One sentence chain; `covered` of `total` objects have a value that may be served."""
    parts = [f"{ask.metric}: {covered} of {total} {ask.resource} have a value that is true and young"]
    dated = [(now - w.born, w.limit) for _, w in withheld if w.born is not None]
    if dated:
        age, limit = min(dated, key=lambda pair: pair[0])
        parts.append(f"youngest withheld {seconds(age)} old" + (f", limit {seconds(limit)}" if limit else ""))
    if withheld:
        counts = Counter(w.reason for _, w in withheld)
        reason, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
        key, example = min((key, w) for key, w in withheld if w.reason == reason)
        others = "".join(f", {n} {r}" for r, n in sorted(counts.items()) if r != reason)
        parts.append(f"{count} {reason}{others}; {key.name}: {example.detail}")
        parts.append(REMEDIES[reason])
    else:
        parts.append("no object has a sample")
    parts += [f"{s.source}: {s.trouble}" for s in snapshots if s.trouble]
    return "; ".join(parts)


def unknown_metric(ask: Ask) -> str:
    """prometheus-adapter's wording (custom-metrics-apiserver, pkg/provider/errors.go)."""
    return f"the server could not find the metric {ask.metric} for {ask.resource}"


def unknown_object(ask: Ask) -> str:
    return f"the server could not find the metric {ask.metric} for {ask.resource} {ask.name}"
