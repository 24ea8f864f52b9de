"""`born` moves only when the exporter is seen to have collected again, and never past the look before that."""

from collections.abc import Mapping

import pytest

from adapter.core.gpu import DeviceSample, Value, devices
from adapter.core.heartbeat import History, follow
from adapter.core.points import Device
from adapter.core.profiles import ENERGY, ENGINE, POWER, TEMPERATURE
from adapter.core.samples import Row

GPU = Device("GPU-a")
GAP = 44.0


def sample(device: Device = GPU, /, **families: float) -> dict[Device, DeviceSample]:
    names = {"energy": ENERGY, "power": POWER, "temp": TEMPERATURE, "engine": ENGINE}
    values = {names[name]: (Value(None, number, None),) for name, number in families.items()}
    return {device: DeviceSample(device, "", values)}


def watch(*looks: tuple[float, Mapping[Device, DeviceSample]]) -> History:
    history = History()
    for at, samples in looks:
        history = follow(history, samples, at, at, GAP)
    return history


def born(history: History, device: Device = GPU, *, profiling: bool = False) -> float | None:
    track = history.tracks[device]
    beat = track.prof if profiling else track.dev
    return beat.born if beat else None


def test_pending_until_the_heartbeat_was_seen_to_move() -> None:
    assert born(watch((0, sample(energy=1)), (1, sample(energy=1)))) is None
    assert born(watch((0, sample(energy=1)), (1, sample(energy=1)), (2, sample(energy=2)))) == 1


def test_born_is_the_last_look_that_showed_the_heartbeat_before() -> None:
    history = watch((0, sample(energy=1)), (1, sample(energy=2)), (2, sample(energy=2)), (3, sample(energy=2)))
    assert born(history) == 0
    assert born(follow(history, sample(energy=3), 4, 4, GAP)) == 3


def test_frozen_exporter_keeps_its_birth_however_often_it_is_looked_at() -> None:
    looks = [(float(at), sample(energy=2)) for at in range(40)]
    assert born(watch((-1, sample(energy=1)), *looks)) == -1


def test_look_that_is_not_newer_changes_nothing() -> None:
    history = watch((0, sample(energy=1)), (5, sample(energy=2)))
    assert follow(history, sample(energy=9), 5, 5, GAP) is history
    assert follow(history, sample(energy=9), 4, 4, GAP) is history


def test_counter_that_fell_once_is_ignored_and_twice_is_a_reset() -> None:
    history = watch((0, sample(energy=5)), (1, sample(energy=6)))
    once = follow(history, sample(energy=2), 2, 2, GAP)
    assert born(once) == 0
    assert once.tracks[GPU].sample.witness(ENERGY) == 6
    assert born(follow(once, sample(energy=7), 3, 3, GAP)) == 1
    assert born(follow(once, sample(energy=3), 3, 3, GAP)) is None


def test_frozen_page_after_two_older_ones_is_no_new_collect() -> None:
    """A balancer that repeats old pages makes the counter fall twice and come back to where it froze."""
    history = watch((0, sample(energy=5)), (1, sample(energy=6)), (2, sample(energy=5)), (3, sample(energy=5)))
    assert born(history) is None
    for at in range(4, 12):
        history = follow(history, sample(energy=6), at, at, GAP)
        assert born(history) is None
    assert born(follow(history, sample(energy=7), 12, 12, GAP)) == 3


def test_gap_longer_than_the_limit_makes_it_pending_again() -> None:
    history = watch((0, sample(energy=1)), (1, sample(energy=2)))
    assert born(follow(history, sample(energy=3), 45, 45, GAP)) == 1
    assert born(follow(history, sample(energy=3), 46, 46, GAP)) is None


def test_row_that_comes_back_soon_is_not_pending_again() -> None:
    history = watch((0, sample(energy=1)), (1, sample(energy=2)), (2, {}))
    assert born(follow(history, sample(energy=3), 3, 3, GAP)) == 1


@pytest.mark.parametrize(
    ("before", "now", "moved"),
    [
        pytest.param({"power": 70.1, "temp": 40}, {"power": 70.2, "temp": 40}, True, id="power moves"),
        pytest.param({"power": 70.1, "temp": 40}, {"power": 70.1, "temp": 41}, True, id="temperature moves"),
        pytest.param({"power": 70.1, "temp": 40}, {"power": 70.1, "temp": 40}, False, id="both stand still"),
        pytest.param({"power": 70.1, "temp": 40}, {"power": 70.1}, False, id="a row that went is no movement"),
        pytest.param({"energy": 1}, {"power": 70.1}, False, id="another family cannot be compared"),
    ],
)
def test_without_energy_power_or_temperature_is_the_heartbeat(
    before: dict[str, float], now: dict[str, float], moved: bool
) -> None:
    assert (born(watch((0, sample(**before)), (1, sample(**now)))) == 0) is moved


@pytest.mark.parametrize(
    ("before", "now", "moved"),
    [
        pytest.param({"engine": 0.3, "energy": 1}, {"engine": 0.4, "energy": 1}, True, id="ratio moves"),
        pytest.param(
            {"engine": 0.3, "energy": 1}, {"engine": 0.3, "energy": 2}, False, id="dead profiling, live driver"
        ),
        pytest.param({"engine": 0.3, "energy": 1}, {"engine": 0.0, "energy": 1}, True, id="load ends"),
        pytest.param({"engine": 0.0, "energy": 1}, {"engine": 0.0, "energy": 2}, True, id="idle: energy counts"),
        pytest.param({"engine": 0.0, "energy": 1}, {"engine": 0.0, "energy": 1}, False, id="idle and frozen"),
        pytest.param({"engine": 0.3, "energy": 1}, {"energy": 1}, False, id="ratio that went is no movement"),
    ],
)
def test_profiling_fields_have_their_own_heartbeat(
    before: dict[str, float], now: dict[str, float], moved: bool
) -> None:
    history = watch((0, sample(**before)), (1, sample(**now)))
    assert (born(history, profiling=True) == 0) is moved


def test_mig_instance_without_energy_takes_any_row_of_its_gpu() -> None:
    slice_one, slice_two = Device("GPU-a", "1"), Device("GPU-a", "2")
    first = sample(slice_one, engine=0.0) | sample(slice_two, energy=1)
    second = sample(slice_one, engine=0.0) | sample(slice_two, energy=2)
    assert born(watch((0, first), (1, second)), slice_one) == 0


def test_device_without_anything_that_moves_has_no_heartbeat() -> None:
    track = watch((0, sample())).tracks[GPU]
    assert track.dev is None
    assert track.prof is None


def test_learnt_interval_is_never_shorter_than_the_true_one() -> None:
    history = History()
    for look in range(400):
        at = look * 1.7
        history = follow(history, sample(energy=1 + int(at / 5.0)), at, at, GAP)
    beat = history.tracks[GPU].dev
    assert beat is not None
    assert beat.interval is not None
    assert 5.0 <= beat.interval <= 5.5


def test_interval_is_not_learnt_from_a_few_moves() -> None:
    beat = watch(*((float(i), sample(energy=float(i))) for i in range(9))).tracks[GPU].dev
    assert beat is not None
    assert beat.interval is None


def test_rows_become_devices_by_uuid_and_instance() -> None:
    rows = [
        Row(ENERGY, {"UUID": "GPU-a"}, 1),
        Row(ENERGY, {"UUID": "GPU-a", "GPU_I_ID": "1"}, 2),
        Row(ENERGY, {"uuid": "GPU-b"}, 3),
        Row(ENERGY, {"gpu": "0"}, 4),
        Row(ENERGY, {"nvswitch": "0"}, 5),
    ]
    assert set(devices(rows, "t")) == {Device("GPU-a"), Device("GPU-a", "1"), Device("GPU-b"), Device("t#0")}
