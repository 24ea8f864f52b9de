"""From looks to readings of pods: who holds which device, and what may be said of it."""

import math

import pytest

from adapter.core.attribution import GpuMetric
from adapter.core.freshness import decide
from adapter.core.pace import Pace
from adapter.core.pods import Pod, PodIndex
from adapter.core.points import Device, Point, Reading, Reason, Withheld
from adapter.core.profiles import PROFILES
from adapter.core.samples import Look, Row
from adapter.sources.devices import DeviceFeed
from tests.core.build import GPU_A, GPU_B, UTIL, gpu_metric, key, look, pod, rows

LIVE = Pace("dcgm", collect=30, look=3, pages="live")
METRIC = gpu_metric()


def reason(reading: Reading) -> Reason | None:
    return reading.reason if isinstance(reading, Withheld) else None


def served(*looks: Look, pods: tuple[Pod, ...] = (pod(),), pace: Pace = LIVE) -> dict[str, Reading]:
    feed = DeviceFeed("dcgm", "dcgm", [METRIC])
    for one in looks:
        feed.take(one, pace, PodIndex(pods))
    return {k.name: said[0] for k, said in feed.snapshot().readings[METRIC.name].items()}


def pair(**kwargs: object) -> tuple[Look, Look]:
    """Two looks between which the exporter collected, so that the second is dated."""
    return look(100, rows(energy=1)), look(101, rows(energy=2, **kwargs))  # type: ignore[arg-type]


def test_value_is_born_at_the_look_before_its_collect() -> None:
    reading = served(*pair(util=63))["p-0"]
    assert isinstance(reading, Point)
    assert (reading.value, reading.born, reading.seen, reading.limit) == (63, 100, 101, 44)
    assert reading.devices == {GPU_A}


def test_first_look_is_pending() -> None:
    reading = served(look(100, rows()))["p-0"]
    assert isinstance(reading, Withheld)
    assert reading.reason == Reason.PENDING


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        pytest.param(math.nan, Reason.NOT_A_NUMBER, id="NaN"),
        pytest.param(math.inf, Reason.BLANK, id="infinite"),
        pytest.param(9223372036854775794, Reason.BLANK, id="int64 not supported"),
        pytest.param(140737488355328, Reason.BLANK, id="fp64 blank"),
        pytest.param(2147483632, Reason.BLANK, id="int32 blank"),
        pytest.param(808000000, Reason.OUT_OF_RANGE, id="driver garbage"),
        pytest.param(101, Reason.OUT_OF_RANGE, id="101 %"),
        pytest.param(-1, Reason.OUT_OF_RANGE, id="negative"),
    ],
)
def test_number_that_cannot_be_true_is_withheld(number: float, reason: Reason) -> None:
    reading = served(*pair(util=number))["p-0"]
    assert isinstance(reading, Withheld)
    assert reading.reason == reason


@pytest.mark.parametrize(
    ("holder", "owner", "expected"),
    [
        pytest.param(pod(), "p-0", 50.0, id="its own"),
        pytest.param(pod(gpus=0), "p-0", Reason.NOT_OWNER, id="requests no GPU"),
        pytest.param(Pod("ml", "p-0", phase="Succeeded", gpus=1, started=0.0), "p-0", None, id="finished"),
        pytest.param(Pod("ml", "p-0", deleting=True, gpus=1, started=0.0), "p-0", None, id="going"),
        pytest.param(pod(), "p-9", None, id="unknown to the API server"),
        pytest.param(pod(started=96.0), "p-0", Reason.PENDING, id="collected before its container settled"),
        pytest.param(pod(gpus=2), "p-0", Reason.PARTIAL, id="one of its two GPUs"),
    ],
)
def test_row_counts_for_the_pod_that_holds_the_device(holder: Pod, owner: str, expected: float | Reason | None) -> None:
    looks = look(100, rows(owner=owner, energy=1)), look(101, rows(owner=owner, energy=2))
    reading = served(*looks, pods=(holder,)).get(owner)
    if isinstance(expected, Reason):
        assert isinstance(reading, Withheld)
        assert reading.reason == expected
    elif expected is None:
        assert reading is None
    else:
        assert isinstance(reading, Point)
        assert reading.value == expected


def test_row_of_an_earlier_pod_of_that_name_is_not_its_own() -> None:
    looks = look(100, rows(energy=1, pod_uid="old")), look(101, rows(energy=2, pod_uid="old"))
    reading = served(*looks, pods=(pod(uid="new"),))["p-0"]
    assert isinstance(reading, Withheld)
    assert reading.reason == Reason.NOT_OWNER


def test_device_of_several_pods_tells_of_none() -> None:
    both = (
        rows(owner="p-0", energy=1) + rows(owner="p-1", energy=1),
        rows(owner="p-0", energy=2) + rows(owner="p-1", energy=2),
    )
    readings = served(look(100, both[0]), look(101, both[1]), pods=(pod(), pod("p-1")))
    assert {r.reason for r in readings.values() if isinstance(r, Withheld)} == {Reason.SHARED_UNATTRIBUTABLE}
    assert len(readings) == 2


def test_pod_that_is_going_is_still_a_rival_for_its_device() -> None:
    going = Pod("ml", "p-1", deleting=True, gpus=1, started=0.0)
    first, second = rows(energy=1) + rows(owner="p-1", energy=1), rows(energy=2) + rows(owner="p-1", energy=2)
    readings = served(look(100, first), look(101, second), pods=(pod(), going))
    assert reason(readings["p-0"]) == Reason.SHARED_UNATTRIBUTABLE
    assert "p-1" not in readings


def test_exporters_own_pod_is_no_rival_and_names_nobody() -> None:
    own = Pod("ml", "exporter", gpus=0, started=0.0)
    first, second = rows(energy=1) + rows(owner="exporter", energy=1), rows(energy=2) + rows(owner="exporter", energy=2)
    looks = look(100, first), look(101, second)
    assert isinstance(served(*looks, pods=(pod(), own))["p-0"], Point)
    unlabelled = look(102, rows(owner="exporter", energy=2))
    assert reason(served(*looks, unlabelled, pods=(pod(), own))["p-0"]) == Reason.MAPPING_LOST


def test_more_devices_than_it_requests_are_ambiguous() -> None:
    first, second = rows(GPU_A, energy=1) + rows(GPU_B, energy=1), rows(GPU_A, energy=2) + rows(GPU_B, energy=2)
    assert reason(served(look(100, first), look(101, second))["p-0"]) == Reason.AMBIGUOUS


def test_pod_that_moved_is_not_held_back_by_the_page_of_its_old_node() -> None:
    """A StatefulSet's pod keeps its name; the dead node's last page still names it."""
    feed = DeviceFeed("dcgm", "dcgm", [METRIC])
    for at in (100, 101):
        feed.take(look(at, rows(GPU_A, energy=at)), LIVE, PodIndex([pod()]))
    moved = PodIndex([pod(started=200.0)])
    for at in (210, 211):
        feed.take(look(at, rows(GPU_B, energy=at), target="http://new/metrics"), LIVE, moved)
    (reading,) = feed.snapshot().of(METRIC.name, key())
    assert isinstance(reading, Point)
    assert reading.devices == {GPU_B}


def test_pod_whose_container_is_down_has_no_value() -> None:
    assert reason(served(*pair(), pods=(pod(started=None),))["p-0"]) == Reason.PENDING


def test_target_that_is_forgotten_takes_nothing_of_another_with_it() -> None:
    feed = DeviceFeed("dcgm", "dcgm", [METRIC])
    for at, target in ((100, "http://old/m"), (101, "http://old/m"), (200, "http://new/m"), (201, "http://new/m")):
        feed.take(look(at, rows(energy=at), target=target), LIVE, PodIndex([pod()]))
    feed.forget(150.0, PodIndex([pod()]))
    assert isinstance(feed.snapshot().of(METRIC.name, key())[0], Point)
    feed.forget(250.0, PodIndex([pod()]))
    assert feed.snapshot().of(METRIC.name, key()) == ()


def test_what_is_wrong_with_a_device_holds_no_longer_than_a_value_would() -> None:
    reading = served(*pair(util=math.nan))["p-0"]
    assert reason(decide(reading, 145.0)) == Reason.NOT_A_NUMBER
    assert reason(decide(reading, 145.1)) == Reason.STALE


def test_zero_of_a_pod_whose_device_says_more_is_implausible() -> None:
    """Exporters from 4.8.2 on fill per-pod rows with 0 where the process lookup fails (dcgm-exporter, virtual GPUs)."""
    looks = [look(100.0 + at, rows(util=0, energy=at) + rows(owner=None, util=87, energy=at)) for at in range(3)]
    assert reason(served(*looks)["p-0"]) == Reason.IMPLAUSIBLE_ZERO


def test_idle_memorys_constant_floor_is_no_heartbeat() -> None:
    floor = "DCGM_FI_PROF_DRAM_ACTIVE"
    metric = GpuMetric("engine", PROFILES["gpu_engine_active"])
    feed = DeviceFeed("dcgm", "dcgm", [metric])
    for at in range(4):
        shown = rows(util=0, energy=at, engine=0.0)
        idle = Row(floor, shown[0].labels, 0.000012)
        feed.take(look(100.0 + at, (*shown, idle)), LIVE, PodIndex([pod()]))
    assert isinstance(feed.snapshot().of("engine", key())[0], Point)


def test_finished_pod_is_no_rival_for_a_device() -> None:
    gone = Pod("ml", "p-1", phase="Succeeded", gpus=1, started=0.0)
    first, second = rows(energy=1) + rows(owner="p-1", energy=1), rows(energy=2) + rows(owner="p-1", energy=2)
    readings = served(look(100, first), look(101, second), pods=(pod(), gone))
    assert isinstance(readings["p-0"], Point)
    assert "p-1" not in readings


def test_containers_that_repeat_a_device_count_once() -> None:
    other = tuple(Row(r.name, {**r.labels, "container": "side"}, r.value) for r in rows(energy=2))
    reading = served(look(100, rows(energy=1)), look(101, rows(energy=2), other))["p-0"]
    assert isinstance(reading, Point)
    assert reading.value == 50


def test_pod_is_as_old_as_its_stalest_gpu() -> None:
    def both(a: int, b: int) -> tuple[Row, ...]:
        return rows(GPU_A, util=20, energy=a) + rows(GPU_B, util=80, energy=b)

    reading = served(look(100, both(1, 1)), look(101, both(2, 2)), look(106, both(3, 2)), pods=(pod(gpus=2),))["p-0"]
    assert isinstance(reading, Point)
    assert (reading.value, reading.born) == (50, 100)


def test_one_bad_gpu_withholds_the_pod_and_names_the_gpu() -> None:
    first = rows(GPU_A, energy=1) + rows(GPU_B, energy=1)
    second = rows(GPU_A, energy=2) + rows(GPU_B, energy=2, util=math.nan)
    reading = served(look(100, first), look(101, second), pods=(pod(gpus=2),))["p-0"]
    assert isinstance(reading, Withheld)
    assert reading.reason == Reason.NOT_A_NUMBER
    assert "GPU-b" in reading.detail


def test_page_that_names_no_pods_any_more_has_lost_its_mapping() -> None:
    reading = served(*pair(), look(102, rows(owner=None, energy=2)))["p-0"]
    assert isinstance(reading, Withheld)
    assert reading.reason == Reason.MAPPING_LOST


def test_pod_that_left_a_page_is_missing_at_once() -> None:
    reading = served(*pair(), look(102, rows(owner="p-1", energy=2)), pods=(pod(), pod("p-1")))["p-0"]
    assert isinstance(reading, Withheld)
    assert reading.reason == Reason.MISSING


def test_device_on_two_pages_counts_once_and_from_the_younger_history() -> None:
    other = "http://other/metrics"
    feed = DeviceFeed("dcgm", "dcgm", [METRIC])
    for one in (
        look(100, rows(util=70, energy=1)),
        look(101, rows(util=70, energy=2)),
        look(103, rows(util=71, energy=3), target=other),
        look(104, rows(util=71, energy=4), target=other),
    ):
        feed.take(one, LIVE, PodIndex([pod()]))
    (reading,) = feed.snapshot().of(METRIC.name, key())
    assert isinstance(reading, Point)
    assert (reading.value, reading.born) == (71, 103)


def test_failed_look_keeps_the_readings_and_tells_why() -> None:
    feed = DeviceFeed("dcgm", "dcgm", [METRIC])
    for one in pair():
        feed.take(one, LIVE, PodIndex([pod()]))
    feed.fail("http://e/metrics", "answered 500")
    snapshot = feed.snapshot()
    assert isinstance(snapshot.of(METRIC.name, key())[0], Point)
    assert snapshot.trouble == "1 of 1 targets fail: http://e/metrics answered 500"


def test_mig_rows_are_devices_of_their_own_and_read_the_engine() -> None:
    one, two = Device("GPU-a", "1"), Device("GPU-a", "2")
    first = rows(one, util=0, energy=1, engine=0.5) + rows(two, owner="p-1", util=0, energy=1, engine=0.1)
    second = rows(one, util=0, energy=2, engine=0.9) + rows(two, owner="p-1", util=0, energy=2, engine=0.2)
    readings = served(look(100, first), look(101, second), pods=(pod(), pod("p-1")))
    values = {name: r.value for name, r in readings.items() if isinstance(r, Point)}
    assert values == {"p-0": 90, "p-1": 20}


def test_ticker_page_is_one_collect_older() -> None:
    reading = served(*pair(), pace=Pace("dcgm", collect=30, look=3, pages="ticker"))["p-0"]
    assert isinstance(reading, Point)
    assert (reading.born, reading.limit) == (70, 74)


def test_ticker_page_stays_one_configured_collect_older_whatever_was_learnt() -> None:
    pace = Pace("dcgm", collect=30, look=3, pages="ticker")
    looks = [look(float(at), rows(energy=at)) for at in range(100, 200, 3)]
    reading = served(*looks, pace=pace)["p-0"]
    assert isinstance(reading, Point)
    assert reading.born == 196 - 30
    assert 30 < reading.limit < 74


def test_without_heartbeat_a_look_is_one_collect_old_whatever_was_learnt() -> None:
    pace = Pace("dcgm", collect=30, look=3, pages="live", heartbeat=False)
    assert isinstance(served(look(100, rows(energy=None)), pace=pace)["p-0"], Point)
    looks = [look(float(at), rows(energy=at)) for at in range(100, 200, 3)]
    reading = served(*looks, pace=pace)["p-0"]
    assert isinstance(reading, Point)
    assert (reading.born, reading.limit) == (199 - 30, 44)


def test_device_with_nothing_that_moves_is_unsupported_and_told_the_remedy() -> None:
    reading = served(look(100, rows(energy=None)), look(101, rows(energy=None)))["p-0"]
    assert isinstance(reading, Withheld)
    assert reading.reason == Reason.UNSUPPORTED
    assert "sources.dcgm.heartbeat: none" in reading.detail


def test_heartbeat_that_never_moves_stops_being_pending() -> None:
    looks = [look(float(at), rows(energy=1)) for at in range(100, 160, 3)]
    reading = served(*looks)["p-0"]
    assert isinstance(reading, Withheld)
    assert reading.reason == Reason.UNSUPPORTED


def test_explicit_timestamp_makes_a_row_as_old_as_it_says() -> None:
    stamped = tuple(r._replace(wall=1000.0) if r.name == UTIL else r for r in rows(energy=2))
    reading = served(look(100, rows(energy=1), wall=1019), look(101, stamped, wall=1020.0))["p-0"]
    assert isinstance(reading, Point)
    assert reading.born == 101 - 20 - 2


def test_explicit_timestamp_ahead_of_our_clock_is_future() -> None:
    stamped = tuple(r._replace(wall=1000.0) for r in rows(energy=2))
    reading = served(look(100, rows(energy=1)), look(101, stamped, wall=997.0))["p-0"]
    assert isinstance(reading, Withheld)
    assert reading.reason == Reason.FUTURE


@pytest.mark.parametrize(
    ("kwargs", "believed"),
    [
        pytest.param({"power_limit": 700}, False, id="energy could contradict it"),
        pytest.param({"engine": 0.0}, False, id="the engine could contradict it"),
        pytest.param({}, True, id="nothing could ever"),
    ],
)
def test_first_zero_waits_for_a_second_collect_to_bear_it_out(kwargs: dict[str, float], believed: bool) -> None:
    looks = [look(100.0 + at, rows(util=0, energy=1 + at, **kwargs)) for at in range(3)]  # type: ignore[arg-type]
    first = served(*looks[:2])["p-0"]
    assert isinstance(first, Point) is believed
    assert believed or (isinstance(first, Withheld) and first.reason == Reason.PENDING)
    assert isinstance(served(*looks)["p-0"], Point)


BUSY = 600_000  # mJ in a second: 600 W


@pytest.mark.parametrize(
    ("kwargs", "withheld"),
    [
        pytest.param({"power_limit": 700, "joules": BUSY}, True, id="draws most of its limit"),
        pytest.param({"power_limit": 700, "joules": 200_000}, False, id="draws what weights in memory draw"),
        pytest.param({"power_limit": None, "joules": BUSY}, False, id="no limit known"),
        pytest.param(
            {"power_limit": None, "joules": BUSY, "modelName": "NVIDIA H100 80GB HBM3"}, True, id="limit by model"
        ),
        pytest.param({"power_limit": 700, "joules": 70_000, "engine": 0.3}, True, id="engine active"),
        pytest.param({"power_limit": 700, "joules": 70_000, "engine": 0.01}, False, id="engine idle noise"),
    ],
)
def test_zero_that_the_device_contradicts_over_two_collects_is_withheld(
    kwargs: dict[str, object], withheld: bool
) -> None:
    joules = kwargs.pop("joules")
    assert isinstance(joules, int)
    looks = [
        look(100.0 + at, rows(util=0, energy=1 + joules * at, **kwargs))  # type: ignore[arg-type]
        for at in range(3)
    ]
    reading = served(*looks)["p-0"]
    assert isinstance(reading, Withheld) is withheld
    if isinstance(reading, Withheld):
        assert reading.reason == Reason.IMPLAUSIBLE_ZERO


def test_exporter_that_collects_more_rarely_than_configured_is_told() -> None:
    pace = Pace("dcgm", collect=5, look=1, pages="live")
    feed = DeviceFeed("dcgm", "dcgm", [METRIC])
    for at in range(400):
        feed.take(look(float(at), rows(energy=at // 30)), pace, PodIndex([pod()]))
    assert "collects every 30.1s and not every 5s" in feed.snapshot().trouble
    assert "sources.dcgm.collectInterval: 30.1s" in feed.snapshot().trouble
