"""What must hold at every observation of the demo, checked against what only the simulator knows.

Sound, so that no promise is called broken that was kept:
- A served number counts as young if *some* collect within the limit measured just that. Utilization repeats, so an old
  one may pass; but memory spells its collect (`stage`) and comes from the same looks through the same dating, so that
  whatever passes there is caught here.
- Ages are counted up to the sending of the request, which lies before the adapter's own `now`.
- What a collect measured is the truth, not what a fault made of it on the page: a false zero was never measured.
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from adapter.core.points import Reason
from adapter.core.timing import seconds
from adapter.demo.answers import MEMORY, UTILIZATION, Observation, Refused, Reply, Value, values
from adapter.demo.faults import Fault, Spell, reigning
from adapter.demo.fleet import Fleet
from adapter.demo.script import TOLD, recovers_within, shows_within
from adapter.demo.stage import Holding, Rhythm, collects, holdings

FIRST_VALUES = 10.0  # seconds from the start to the first fresh value of every pod
HORIZON = 20.0  # limits that are looked back for the collect that a number is from
CLOCK_NOISE = 0.05  # seconds by which two readings of two clocks may be apart
REASONS = frozenset(reason.value for reason in Reason)
GAP = 1  # observations in a row that may miss a healthy pod


class Promise(StrEnum):
    STARTED = f"every pod has a fresh value {FIRST_VALUES:.0f} s after the start"
    YOUNG = "no value is served beyond its limit"
    MEASURED = "nothing is served that nobody measured, no invented 0"
    DATED = "no timestamp is younger than its value"
    REASONED = "every pod that is left out has a reason"
    NAMED = "every fault is told by its own reason"
    STEADY = "healthy pods are served without a gap"
    RECOVERED = "pods are served again within the limit of recovery"
    REACHABLE = "the printed curl line brings a MetricValueList"


class Broken(NamedTuple):
    """at: seconds on our clock."""

    promise: Promise
    at: float
    pod: str
    fault: str
    text: str

    def __str__(self) -> str:
        where = f" ({self.pod}, {self.fault})" if self.pod else ""
        return f"{self.at:.1f}s: {self.promise}{where}: {self.text}"


class Struck(NamedTuple):
    """A pod and the fault that struck its exporter; `start` tells one spell from the next."""

    pod: str
    fault: Fault
    start: float


class Promises:
    """The book that is kept. kept: checks that held, by promise; broken: those that did not, once per pod and fault."""

    def __init__(self, rhythm: Rhythm) -> None:
        self.kept: Counter[Promise] = Counter()
        self.broken: list[Broken] = []
        self.oldest = 0.0
        self.limit = rhythm.limit
        self._rhythm = rhythm
        self._known: set[tuple[Promise, str, str]] = set()
        self._first: dict[str, float] = {}
        self._last: dict[str, float] = {}
        self._missed: Counter[str] = Counter()
        self._reasons: dict[Struck, set[str]] = {}
        self._closed: set[Struck] = set()

    def watch(self, fleet: Fleet, observation: Observation) -> None:
        """Checks one observation of `fleet`, as it was when the observation ended."""
        words, memory = observation.words, values(observation.memory)
        for pod, holding in holdings(fleet).items():
            word = words.get(pod) or Refused("", "not asked for", observation.began)
            if isinstance(word, Value):
                self._served(holding, word, observation)
            else:
                self._withheld(holding, word)
            if pod in memory:
                self._true(holding, MEMORY, memory[pod], observation)
            self._steady(holding, served=isinstance(word, Value), at=word.asked)
            for spell in holding.exporter.spells:
                self._close(holding, spell, word.asked)
        self._started(holdings(fleet), observation.began)

    def reached(self, reply: Reply) -> None:
        """What the printed URL brought."""
        listed = reply.code == 200 and reply.body.get("kind") == "MetricValueList"
        self._note(Promise.REACHABLE, "" if listed else f"it brought HTTP {reply.code}", reply.asked)

    def _served(self, holding: Holding, word: Value, observation: Observation) -> None:
        self._first.setdefault(holding.pod, word.asked)
        self._last[holding.pod] = word.asked
        self._true(holding, UTILIZATION, word, observation)

    def _true(self, holding: Holding, metric: str, value: Value, observation: Observation) -> None:
        """The collect that the number is from, and whether that may still be served and is dated right."""
        limit, at = self._rhythm.limit, value.asked
        since = at - HORIZON * limit
        found = next(
            (c for c in collects(holding.exporter, since, observation.ended) if _is(holding, metric, c, value)), None
        )
        if found is None:
            self._note(Promise.MEASURED, f"{metric} {value.number:g}: no collect measured that", at, holding)
            return
        self._note(Promise.MEASURED, "", at)
        age = at - found
        self.oldest = max(self.oldest, age)
        late = f"{metric} {value.number:g} is {seconds(age)} old, limit {seconds(limit)}" if age > limit else ""
        self._note(Promise.YOUNG, late, at, holding)
        ahead = value.stamp - (observation.epoch + found)
        young = f"{metric} is dated {ahead:.2f}s after its collect" if ahead > CLOCK_NOISE else ""
        self._note(Promise.DATED, young, at, holding)

    def _withheld(self, holding: Holding, word: Refused) -> None:
        named = word.reason in REASONS
        self._note(Promise.REASONED, "" if named else f"no reason in: {word.detail}", word.asked, holding)
        for spell in holding.exporter.spells:
            if spell.reigns(word.asked):
                self._reasons.setdefault(Struck(holding.pod, spell.fault, spell.start), set()).add(word.reason)

    def _steady(self, holding: Holding, *, served: bool, at: float) -> None:
        """A pod is owed once it has been served, while nothing ails its exporter and its recovery is over."""
        spells = holding.exporter.spells
        struck = any(s.start <= at < s.end + recovers_within(s.fault, self._rhythm) for s in spells)
        if served or struck or holding.pod not in self._first:
            self._missed[holding.pod] = 0
        else:
            self._missed[holding.pod] += 1
        if holding.pod in self._first and not struck:
            gap = self._missed[holding.pod]
            text = f"left out of {gap} observations in a row" if gap > GAP else ""
            self._note(Promise.STEADY, text, at, holding)

    def _close(self, holding: Holding, spell: Spell, at: float) -> None:
        """Judges a fault once its recovery is due, unless another has struck meanwhile."""
        due = spell.end + recovers_within(spell.fault, self._rhythm)
        struck = Struck(holding.pod, spell.fault, spell.start)
        if at < due or struck in self._closed:
            return
        self._closed.add(struck)
        if any(spell.start < other.start < due for other in holding.exporter.spells):
            return
        if (
            spell.fault in TOLD
            and spell.end - spell.start > shows_within(spell.fault, self._rhythm) + self._rhythm.poll
        ):
            told, expected = self._reasons.get(struck, set()), TOLD[spell.fault].reason
            text = "" if expected in told else f"expected {expected}, told {', '.join(sorted(told)) or 'nothing'}"
            self._note(Promise.NAMED, text, at, holding, spell)
        again = self._last.get(holding.pod, spell.start) > spell.end
        self._note(Promise.RECOVERED, "" if again else f"not after {seconds(at - spell.end)}", at, holding, spell)

    def _started(self, pods: Mapping[str, Holding], at: float) -> None:
        for pod, holding in pods.items():
            first = self._first.get(pod, at)
            if (pod in self._first or at > FIRST_VALUES) and (Promise.STARTED, pod, "") not in self._known:
                self._known.add((Promise.STARTED, pod, ""))
                text = f"no value after {seconds(first)}" if first > FIRST_VALUES else ""
                self._note(Promise.STARTED, text, at, holding)

    def _note(
        self, promise: Promise, wrong: str, at: float, holding: Holding | None = None, spell: Spell | None = None
    ) -> None:
        if not wrong:
            self.kept[promise] += 1
            return
        reign = reigning(holding.exporter.spells, at) if holding else {}
        fault = spell.fault if spell else next(iter(reign), "healthy")
        pod = holding.pod if holding else ""
        if (promise, pod, fault) not in self._known:
            self._known.add((promise, pod, fault))
            self.broken.append(Broken(promise, at, pod, fault, wrong))


def _is(holding: Holding, metric: str, collect: float, value: Value) -> bool:
    numbers = holding.measured(collect)
    return value.number == (numbers.memory if metric == MEMORY else numbers.utilization)
