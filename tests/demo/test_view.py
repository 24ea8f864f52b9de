"""A row shows the truth, the adapter's word and what a naive adapter would say, and the HPA's arithmetic on each."""

import math
from dataclasses import replace

import pytest

from adapter.demo.answers import Reply, Value, refused, values
from adapter.demo.faults import Fault, Spell
from adapter.demo.stage import FAST, SPAN, holdings, spelled, staged
from adapter.demo.view import PodRow, believed, view
from tests.demo.telling import EPOCH, FLEET, LIMIT, observed, perfect, refusal

NOW = 20.0
NODE = "node-a"  # holds infer-0 and infer-3


def rows(*spells: Spell, now: float = NOW) -> dict[str, PodRow]:
    fleet = FLEET
    for spell in spells:
        fleet = fleet.struck(NODE, spell)
    return {row.pod: row for workload in view(fleet, observed(fleet, now)) for row in workload.pods}


def test_answer_of_a_healthy_pod_is_a_young_truth() -> None:
    shown = rows()
    assert sorted(shown) == sorted(holdings(FLEET))
    for pod, row in shown.items():
        holding = holdings(FLEET)[pod]
        assert row.age == pytest.approx(NOW - holding.exporter.collected_at(NOW))
        assert row.answer == row.naive == holding.measured(NOW - (row.age or 0)).utilization
        assert row.truth == pytest.approx(100 * math.fsum(g.load.at(NOW) for g in holding.gpus) / len(holding.gpus))
        assert (row.reason, row.fault) == ("", None)


def test_withheld_pod_shows_its_reason_and_no_number() -> None:
    row = rows(Spell(Fault.LOST_LABELS, NOW - 1))["infer-0"]
    assert (row.answer, row.age, row.reason) == (None, None, "mapping_lost")
    assert row.detail == "something is wrong"
    assert row.fault is Fault.LOST_LABELS


@pytest.mark.parametrize("fault", [Fault.HANG, Fault.KILLED, Fault.NAN, Fault.FALSE_ZERO, Fault.LOST_LABELS])
def test_naive_adapter_makes_0_of_what_is_missing(fault: Fault) -> None:
    shown = rows(Spell(fault, NOW - 3))
    assert shown["infer-0"].naive == 0
    assert shown["infer-0"].answer is None
    assert shown["infer-1"].naive == shown["infer-1"].answer


def test_naive_adapter_serves_what_is_frozen() -> None:
    since = NOW - LIMIT - 3.1
    frozen = rows(Spell(Fault.FREEZE, since))["infer-0"]
    holding = holdings(FLEET)["infer-0"]
    assert frozen.naive == holding.measured(holding.exporter.collected_at(since)).utilization
    assert frozen.answer is None


def test_naive_adapter_knows_no_pod_where_there_is_no_page() -> None:
    exporter = FLEET.struck(NODE, Spell(Fault.HANG, 0.0)).exporter(NODE)
    assert believed(exporter, NOW) == {}
    assert set(believed(FLEET.exporter(NODE), NOW)) == {"infer-0", "infer-3"}


def test_hpa_is_led_astray_by_the_naive_adapter_and_not_by_ours() -> None:
    fleet = FLEET.struck(NODE, Spell(Fault.HANG, NOW - LIMIT - 1))
    infer, _ = view(fleet, observed(fleet, NOW))
    assert infer.wanted.naive < infer.wanted.ours <= infer.replicas
    assert infer.wanted.harm > 0
    assert not infer.refused


def test_hpa_that_gets_an_error_stays_as_it_is() -> None:
    said = observed(FLEET, NOW, dict.fromkeys(perfect(FLEET, NOW), "stale"))
    lists = {name: refusal(NOW, "infer-0", "stale") for name in said.lists}
    for workload in view(FLEET, replace(said, lists=lists)):
        assert workload.refused
        assert workload.wanted.ours == workload.replicas


def test_status_gives_its_reason_and_the_clause_on_the_pod() -> None:
    message = (
        "m: 0 of 1 pods have a value; youngest withheld 9s old, limit 2s; 1 frozen; p-0: 9s old: it froze; restart"
    )
    told = refused(Reply(NOW, 503, {"message": message}), "p-0")
    assert (told.reason, told.detail) == ("frozen", "9s old: it froze")
    assert refused(Reply(NOW, 0, {"message": "no answer"}), "p-0").reason == ""
    assert refused(Reply(NOW, 500, {}), "p-0").detail == "HTTP 500 without a message"


def test_list_gives_numbers_and_times_by_pod() -> None:
    item = {"describedObject": {"name": "p-0"}, "timestamp": "2023-11-14T22:13:20Z", "value": "83500m"}
    assert values(Reply(NOW, 200, {"items": [item]})) == {"p-0": Value(83.5, 1_700_000_000.0, NOW)}
    assert values(Reply(NOW, 503, {"kind": "Status"})) == {}


def test_memory_spells_the_time_of_its_collect() -> None:
    for holding in holdings(FLEET).values():
        looks = [SPAN - 5 + step * FAST.collect for step in range(40)]  # over the end of what can be spelled
        spelt = [holding.measured(holding.exporter.collected_at(look)).memory for look in looks]
        assert len(set(spelt)) == len(looks)
    assert spelled(SPAN + 1) == spelled(1)


def test_load_at_another_speed_keeps_energy_the_integral_of_power() -> None:
    load = staged(FAST, EPOCH, 3.0).exporter(NODE).gpus[0].load
    step = 1e-3
    middles = [load.at(7.0 + step * (i + 0.5)) for i in range(500)]
    assert load.total(7.5) - load.total(7.0) == pytest.approx(sum(middles) * step, abs=1e-5)
    assert load.total(0.0) == 0
