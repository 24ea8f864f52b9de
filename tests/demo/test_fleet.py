"""The fleet is a function of time: pods hold what the pages say they hold, and a change never touches the past."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from adapter.core.gpu import devices, owner_of
from adapter.core.points import ObjectKey
from adapter.core.samples import Row
from adapter.demo.faults import Fault, Spell
from adapter.demo.fleet import NAMESPACE, NODES, WORKLOADS, Fleet, demo_fleet

NOW = 1000.0


def rows(fleet: Fleet, node: str) -> list[Row]:
    families = text_string_to_metric_families(fleet.exporter(node).page(NOW).decode())
    return [Row(s.name, s.labels, s.value) for family in families for s in family.samples]


def test_every_pod_of_every_workload_runs_with_its_gpus() -> None:
    pods = demo_fleet().pods(NOW)
    assert len(pods) == sum(workload.replicas for workload in WORKLOADS)
    for workload in WORKLOADS:
        mine = [pod for pod in pods if pod.labels["app"] == workload.name]
        assert len(mine) == workload.replicas
        assert all(pod.running and pod.gpus == workload.gpus and pod.uid for pod in mine)


def test_pages_name_the_same_owners_as_the_pod_index() -> None:
    fleet = demo_fleet()
    for node in NODES:
        samples = devices(rows(fleet, node), node)
        on_page = {owner.pod: 0 for sample in samples.values() for owner in sample.owners}
        for sample in samples.values():
            for owner in sample.owners:
                on_page[owner.pod] += 1
        assert on_page == {pod.name: pod.gpus for pod in fleet.pods(NOW) if pod.node == node}


def test_each_node_has_free_gpus_that_name_nobody() -> None:
    for node in NODES:
        assert any(owner_of(row.labels) is None for row in rows(demo_fleet(), node))


def test_no_gpu_is_in_two_places() -> None:
    uuids = [gpu.uuid for exporter in demo_fleet().exporters for gpu in exporter.gpus]
    assert len(uuids) == len(set(uuids)) == 4 * len(NODES)


def test_truth_of_a_pod_is_the_mean_over_its_gpus() -> None:
    fleet = demo_fleet()
    (pod,) = [pod for pod in fleet.pods(NOW) if pod.name == "train-1"]
    gpus = [gpu for gpu in fleet.exporter(pod.node).gpus if gpu.owner and gpu.owner.pod == pod.name]
    assert fleet.pod_truth(pod.key, NOW) == pytest.approx(50 * sum(gpu.load.at(NOW) for gpu in gpus))
    with pytest.raises(KeyError):
        fleet.pod_truth(ObjectKey("pods", NAMESPACE, "nobody"), NOW)


def test_loads_move_and_stay_in_range() -> None:
    fleet = demo_fleet()
    for pod in fleet.pods(NOW):
        truths = [fleet.pod_truth(pod.key, NOW + second) for second in range(240)]
        assert min(truths) >= 0
        assert max(truths) <= 100
        assert max(truths) - min(truths) > 30


def test_the_same_moment_always_gives_the_same_fleet() -> None:
    assert [e.page(NOW) for e in demo_fleet().exporters] == [e.page(NOW) for e in demo_fleet().exporters]


def test_exporters_do_not_collect_at_the_same_time() -> None:
    assert len({exporter.collected_at(NOW) for exporter in demo_fleet().exporters}) == len(NODES)


def test_ticker_fleet_lags_within_one_collect() -> None:
    for exporter in demo_fleet(collect=30.0, pages="ticker").exporters:
        assert exporter.pages == "ticker"
        assert 0 < exporter.lag <= exporter.collect


def test_fault_strikes_one_node_from_its_start_and_ends_when_healed() -> None:
    fleet = demo_fleet()
    hurt = fleet.struck("node-b", Spell(Fault.EMPTY, NOW))
    assert hurt.exporter("node-b").page(NOW) == b""
    assert hurt.exporter("node-b").page(NOW - 1) == fleet.exporter("node-b").page(NOW - 1)
    assert hurt.exporter("node-a") == fleet.exporter("node-a")
    healed = hurt.healed("node-b", Fault.EMPTY, NOW + 10)
    assert healed.exporter("node-b").page(NOW + 9) == b""
    assert healed.exporter("node-b").page(NOW + 10) == fleet.exporter("node-b").page(NOW + 10)
    with pytest.raises(KeyError):
        fleet.struck("node-z", Spell(Fault.EMPTY, NOW))
