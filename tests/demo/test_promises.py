"""Every promise that is broken is found, and none is called broken that was kept."""

from collections.abc import Callable

import pytest

from adapter.core.points import Reason
from adapter.demo.answers import Reply
from adapter.demo.faults import Fault, Spell
from adapter.demo.fleet import Fleet
from adapter.demo.promises import FIRST_VALUES, Promise, Promises
from adapter.demo.script import Script, recovers_within, script, shows_within
from adapter.demo.stage import FAST, holdings
from tests.demo.telling import FLEET, LIMIT, Heard, observed, perfect

NOW = 9.0
POD = "infer-1"
STEP = 0.2


def broken(promises: Promises) -> set[Promise]:
    return {each.promise for each in promises.broken}


def struck(played: Script) -> Fleet:
    fleet = FLEET
    for scene in played.scenes:
        fleet = fleet.struck(scene.node, Spell(scene.fault, scene.start, scene.end))
    return fleet


def watch(fleet: Fleet, until: float, lie: Callable[[float, dict[str, Heard]], None] | None = None) -> Promises:
    """The book after a perfect adapter, but for the lie, was watched from 0 on."""
    promises = Promises(FAST)
    for step in range(round(until / STEP) + 1):
        now = step * STEP
        heard = perfect(fleet, now)
        if lie:
            lie(now, heard)
        promises.watch(fleet, observed(fleet, now, heard))
    return promises


def test_perfect_adapter_keeps_every_promise_through_the_whole_script() -> None:
    played = script(FAST)
    promises = watch(struck(played), played.length)
    promises.reached(Reply(played.length, 200, {"kind": "MetricValueList"}))
    assert promises.broken == []
    assert all(promises.kept[promise] for promise in Promise)
    assert LIMIT / 2 < promises.oldest <= LIMIT


@pytest.mark.parametrize(
    "age", [pytest.param(LIMIT + 0.6, id="a collect too old"), pytest.param(7.5, id="long frozen")]
)
def test_value_beyond_its_limit_is_found_though_it_was_true(age: float) -> None:
    promises, heard = Promises(FAST), perfect(FLEET, NOW)
    holding = holdings(FLEET)[POD]
    at = holding.exporter.collected_at(NOW - age)
    heard[POD] = (holding.measured(at), at)
    promises.watch(FLEET, observed(FLEET, NOW, heard))
    assert broken(promises) == {Promise.YOUNG}
    assert promises.oldest == pytest.approx(NOW - at)


def test_old_value_that_repeats_a_young_one_is_found_by_its_memory() -> None:
    promises, heard = Promises(FAST), perfect(FLEET, NOW)
    holding = holdings(FLEET)[POD]
    at = holding.exporter.collected_at(NOW - LIMIT - 2)
    young = holding.measured(holding.exporter.collected_at(NOW))
    heard[POD] = (young._replace(memory=holding.measured(at).memory), at)
    promises.watch(FLEET, observed(FLEET, NOW, heard))
    assert broken(promises) == {Promise.YOUNG}


@pytest.mark.parametrize("number", [pytest.param(0.0, id="an invented 0"), pytest.param(99.5, id="any other number")])
def test_number_that_nobody_measured_is_found(number: float) -> None:
    promises, heard = Promises(FAST), perfect(FLEET, NOW)
    told = heard[POD]
    assert not isinstance(told, str)
    heard[POD] = (told[0]._replace(utilization=number), told[1])
    promises.watch(FLEET, observed(FLEET, NOW, heard))
    assert broken(promises) == {Promise.MEASURED}


def test_zero_that_the_page_shows_but_nobody_measured_is_found() -> None:
    fleet = FLEET.struck("node-b", Spell(Fault.FALSE_ZERO, 3.0))
    heard = perfect(FLEET, NOW)
    told = heard[POD]
    assert not isinstance(told, str)
    heard[POD] = (told[0]._replace(utilization=0.0), told[1])
    promises = Promises(FAST)
    promises.watch(fleet, observed(fleet, NOW, heard))
    (found,) = promises.broken
    assert (found.promise, found.pod, found.fault) == (Promise.MEASURED, POD, Fault.FALSE_ZERO)


@pytest.mark.parametrize(("ahead", "found"), [(0.0, set()), (-1.0, set()), (1.1, {Promise.DATED})])
def test_timestamp_younger_than_its_value_is_found(ahead: float, found: set[Promise]) -> None:
    promises = Promises(FAST)
    promises.watch(FLEET, observed(FLEET, NOW, ahead=ahead))
    assert broken(promises) == found


@pytest.mark.parametrize("reason", ["", "dunno"])
def test_pod_left_out_without_a_known_reason_is_found(reason: str) -> None:
    promises = watch(FLEET, NOW, lambda now, heard: heard.update({POD: reason}) if now < 0.1 else None)
    assert broken(promises) == {Promise.REASONED}


@pytest.mark.parametrize(
    ("times", "found"),
    [pytest.param(1, set(), id="one observation is forgiven"), pytest.param(2, {Promise.STEADY}, id="two are a gap")],
)
def test_healthy_pod_that_is_left_out_is_found(times: int, found: set[Promise]) -> None:
    until = 3.0 + (times - 0.5) * STEP
    promises = watch(FLEET, NOW, lambda now, heard: heard.update({POD: Reason.STALE}) if 3.0 <= now < until else None)
    assert broken(promises) == found


def test_pods_that_were_never_served_are_found_when_the_start_is_over() -> None:
    silent = {POD: Reason.PENDING.value}
    assert broken(watch(FLEET, FIRST_VALUES, lambda _, heard: heard.update(silent))) == set()
    assert broken(watch(FLEET, FIRST_VALUES + 1, lambda _, heard: heard.update(silent))) == {Promise.STARTED}


def test_pod_that_is_not_served_again_after_recovery_is_found() -> None:
    end = 3.0 + shows_within(Fault.KILLED, FAST) + 1.0
    fleet = FLEET.struck("node-b", Spell(Fault.KILLED, 3.0, end))
    due = end + recovers_within(Fault.KILLED, FAST)
    late = watch(fleet, due + STEP, lambda now, heard: heard.update({POD: Reason.STALE}) if now >= end else None)
    assert Promise.RECOVERED in broken(late)
    in_time = watch(
        fleet, due + STEP, lambda now, heard: heard.update({POD: Reason.STALE}) if end <= now < due - STEP else None
    )
    assert broken(in_time) == set()


def test_fault_that_is_told_by_another_reason_is_found() -> None:
    fleet = FLEET.struck("node-b", Spell(Fault.NAN, 3.0, 6.0))

    def lie(_: float, heard: dict[str, Heard]) -> None:
        heard.update({pod: Reason.MISSING.value for pod, said in heard.items() if said == Reason.NOT_A_NUMBER})

    found = watch(fleet, 10.0, lie).broken
    assert {each.promise for each in found} == {Promise.NAMED}
    assert "expected not_a_number, told missing" in str(found[0])


def test_fault_too_short_to_show_need_not_be_told() -> None:
    fleet = FLEET.struck("node-b", Spell(Fault.HANG, 3.0, 3.0 + LIMIT / 2))
    promises = watch(fleet, 9.0)
    assert promises.broken == []
    assert not promises.kept[Promise.NAMED]
    assert promises.kept[Promise.RECOVERED]


@pytest.mark.parametrize(
    "reply", [Reply(NOW, 0, {}), Reply(NOW, 503, {"kind": "Status"}), Reply(NOW, 200, {"kind": "Status"})]
)
def test_curl_line_that_brings_no_list_is_found(reply: Reply) -> None:
    promises = Promises(FAST)
    promises.reached(reply)
    assert broken(promises) == {Promise.REACHABLE}


def test_promise_broken_again_and_again_is_told_once() -> None:
    promises = watch(FLEET, NOW, lambda _, heard: heard.update({POD: ""}))
    assert len(promises.broken) == 1
