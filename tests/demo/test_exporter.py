"""The page shows the last collect and nothing younger; every fault changes what its name says and nothing else."""

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from adapter.core.gpu import Owner
from adapter.demo.exporter import BOARD_MIB, FAMILIES, GPU_UTIL, Exporter, Gpu, gpu_uuid
from adapter.demo.faults import MEASURED, TRANSPORT, Fault, Spell, reigning
from adapter.demo.load import IDLE, Load, Waves
from adapter.sources.exposition import compile_wanted, scan

ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
POWER = "DCGM_FI_DEV_POWER_USAGE"
ENGINE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
PLACE = ["gpu", "UUID", "pci_bus_id", "device", "modelName", "Hostname", "DCGM_FI_DRIVER_VERSION"]
LABELS = [*PLACE, "container", "namespace", "pod"]
BUSY = Waves((0.8, 0.3), hold=12.0, swing=0.1, period=7.0)

Rows = Mapping[str, Mapping[str, float]]  # family → UUID → number


def exporter(*spells: Spell, collect: float = 5.0, load: Load = BUSY) -> Exporter:
    gpus = (Gpu(0, gpu_uuid("n", 0), load, Owner("ml", "p-0")), Gpu(1, gpu_uuid("n", 1), load), Gpu(2, "GPU-c"))
    return Exporter("n", gpus, collect, phase=1.0, spells=spells)


def numbers(page: bytes) -> Rows:
    """The page as Prometheus' own library reads it."""
    return {
        family.name: {sample.labels["UUID"]: sample.value for sample in family.samples}
        for family in text_string_to_metric_families(page.decode())
    }


def energies(page: bytes) -> tuple[float, ...]:
    return tuple(numbers(page)[ENERGY].values())


def test_page_has_every_family_of_every_gpu_with_help_and_type() -> None:
    families = list(text_string_to_metric_families(exporter().page(100.0).decode()))
    assert [family.name for family in families] == [family.name for family in FAMILIES]
    assert all(len(family.samples) == 3 and family.documentation for family in families)
    assert {family.type for family in families if family.name == ENERGY} == {"counter"}


@pytest.mark.parametrize("fault", [None, Fault.NAN, Fault.BLANK, Fault.LOST_LABELS, Fault.TIMESTAMPS])
def test_our_scanner_reads_what_prometheus_library_reads(fault: Fault | None) -> None:
    page = exporter(*([Spell(fault, 0)] if fault else [])).page(100.0)
    ours = scan(page, compile_wanted(family.name for family in FAMILIES), {})
    theirs = [s for family in text_string_to_metric_families(page.decode()) for s in family.samples]
    assert ours.skipped == 0
    # The library gives counters the suffix that OpenMetrics asks for.
    assert [row.name for row in ours.rows] == [s.name.removesuffix("_total") for s in theirs]
    assert [dict(row.labels) for row in ours.rows] == [s.labels for s in theirs]
    assert [row.value for row in ours.rows] == pytest.approx([s.value for s in theirs], nan_ok=True)
    assert [row.wall for row in ours.rows] == [s.timestamp for s in theirs]


def test_rows_have_an_exporters_labels_in_its_order_and_free_gpus_name_no_pod() -> None:
    (family,) = [f for f in text_string_to_metric_families(exporter().page(100.0).decode()) if f.name == GPU_UTIL]
    held, free, _ = family.samples
    assert list(held.labels) == LABELS
    assert held.labels["modelName"] == "NVIDIA H100 80GB HBM3"
    assert (held.labels["namespace"], held.labels["pod"]) == ("ml", "p-0")
    assert list(free.labels) == PLACE


def test_numbers_are_written_as_the_exporter_writes_them() -> None:
    texts = {line.split("{")[0]: line.rsplit(" ", 1)[1] for line in exporter().page(100.0).decode().splitlines()}
    assert all("." not in texts[name] for name in (GPU_UTIL, ENERGY, "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_GPU_TEMP"))
    assert all(len(texts[name].partition(".")[2]) == 6 for name in (POWER, ENGINE, "DCGM_FI_PROF_DRAM_ACTIVE"))
    assert texts["DCGM_FI_DEV_POWER_MGMT_LIMIT"] == "700.000000"


@given(now=st.floats(-500, 5000), collect=st.floats(1, 60), late=st.floats(0, 0.9))
def test_page_shows_the_latest_collect_that_has_happened(now: float, collect: float, late: float) -> None:
    simulated = replace(exporter(collect=collect), late=late * collect)
    collected = simulated.collected_at(now)
    assert 0 <= now - collected <= (1 + late) * collect + 1e-6
    assert simulated.collected_at(collected) == collected
    assert simulated.collected_at(math.nextafter(collected, -math.inf)) < collected


def test_page_tells_the_truth_of_the_moment_it_was_collected() -> None:
    simulated = exporter()
    for now in range(0, 200, 3):
        truth = simulated.truth(simulated.collected_at(now))
        shown = numbers(simulated.page(now))
        for device, percent in truth.items():
            assert shown[GPU_UTIL][device.uuid] == pytest.approx(percent, abs=0.51)
            assert shown[ENGINE][device.uuid] == pytest.approx(percent / 100, abs=0.005)
            assert shown[POWER][device.uuid] == pytest.approx(70 + 5.7 * percent, abs=1.01)
            used, free = shown["DCGM_FI_DEV_FB_USED"], shown["DCGM_FI_DEV_FB_FREE"]
            assert used[device.uuid] + free[device.uuid] == BOARD_MIB


def test_energy_strictly_increases_at_each_collect_and_only_then() -> None:
    simulated = exporter()
    looks = [(simulated.collected_at(now), energies(simulated.page(now))) for now in (look / 2 for look in range(120))]
    for (collected, before), (later, now) in pairwise(looks):
        pairs = list(zip(before, now, strict=True))
        assert all(a < b for a, b in pairs) if later > collected else all(a == b for a, b in pairs)


@given(t=st.floats(-100, 5000), levels=st.lists(st.floats(0.1, 0.9), min_size=1, max_size=5), hold=st.floats(1, 90))
def test_energy_is_the_integral_of_power(t: float, levels: list[float], hold: float) -> None:
    load, step = Waves(levels, hold, swing=0.1, period=17.0, phase=0.3), 1e-3
    middles = [load.at(t + step * (i + 0.5)) for i in range(100)]
    assert load.total(t + 100 * step) - load.total(t) == pytest.approx(sum(middles) * step, abs=2e-3)


def test_load_that_leaves_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="lower the swing"):
        Waves((0.95,), swing=0.1)


def test_idle_gpu_draws_idle_power_and_shows_plain_zeros() -> None:
    shown = numbers(exporter(load=IDLE).page(100.0))
    assert set(shown[GPU_UTIL].values()) == set(shown[ENGINE].values()) == {0.0}
    assert all(power == pytest.approx(70, abs=1.01) for power in shown[POWER].values())


@pytest.mark.parametrize("pages", ["live", "ticker"])
def test_frozen_page_is_byte_identical_and_healthy_again_afterwards(pages: str) -> None:
    healthy = exporter() if pages == "live" else replace(exporter(), pages="ticker", lag=3.0)
    frozen = replace(healthy, spells=(Spell(Fault.FREEZE, 42.0, end=90.0),))
    assert frozen.collected_at(41.0) == healthy.collected_at(41.0)
    assert frozen.collected_at(80.0) == 41.0
    assert {frozen.page(now) for now in range(50, 90)} == {frozen.page(50)}
    assert frozen.page(95.0) == healthy.page(95.0) != frozen.page(89.0)


def test_profiling_can_stand_still_while_the_driver_is_read_on() -> None:
    healthy, hurt = exporter(), exporter(Spell(Fault.PROF_FREEZE, 42.0))
    assert hurt.collected_at(60.0) == 56.0
    assert hurt.collected_at(60.0, profiling=True) == 41.0
    then, now = numbers(healthy.page(41.0)), numbers(healthy.page(60.0))
    for name, shown in numbers(hurt.page(60.0)).items():
        assert shown == (then if name.startswith("DCGM_FI_PROF_") else now)[name]


def test_collect_that_falls_on_the_start_of_a_freeze_does_not_happen() -> None:
    assert exporter(Spell(Fault.FREEZE, 41.0)).collected_at(60.0) == 36.0
    assert exporter(Spell(Fault.FREEZE, 36.0, 42.0), Spell(Fault.FREEZE, 20.0, 36.0)).collected_at(45.0) == 16.0


def test_ticker_page_lags_and_is_never_older_than_two_collects() -> None:
    live, ticker = exporter(), replace(exporter(), pages="ticker", lag=4.0)
    for now in range(100, 140):
        assert ticker.collected_at(now) == live.collected_at(now - 4.0)
        assert 4.0 <= now - ticker.collected_at(now) < 9.0
        assert energies(ticker.page(now)) == energies(live.page(now - 4.0))


@pytest.mark.parametrize(
    ("fault", "shown"),
    [
        pytest.param(Fault.NAN, math.nan, id="nan"),
        pytest.param(Fault.BLANK, 9223372036854775794.0, id="blank"),
        pytest.param(Fault.GARBAGE, 808000000.0, id="garbage"),
        pytest.param(Fault.FALSE_ZERO, 0.0, id="false zero"),
    ],
)
def test_false_utilization_leaves_all_else_as_it_is(fault: Fault, shown: float) -> None:
    healthy, hurt = numbers(exporter().page(60)), numbers(exporter(Spell(fault, 20)).page(60))
    assert list(hurt[GPU_UTIL].values()) == pytest.approx([shown] * 3, nan_ok=True)
    assert healthy[POWER] == hurt[POWER]
    assert {n: v for n, v in healthy.items() if n != GPU_UTIL} == {n: v for n, v in hurt.items() if n != GPU_UTIL}


def test_fault_of_a_measurement_comes_and_goes_with_a_collect() -> None:
    simulated = exporter(Spell(Fault.NAN, 42.0, end=47.0))
    assert [math.isnan(numbers(simulated.page(now))[GPU_UTIL]["GPU-c"]) for now in (45, 46, 50, 51)] == [
        False,
        True,
        True,
        False,
    ]


def test_series_gone_takes_the_rows_of_utilization_only() -> None:
    shown = numbers(exporter(Spell(Fault.SERIES_GONE, 20)).page(60))
    assert set(numbers(exporter().page(60))) - set(shown) == {GPU_UTIL}


def test_empty_page_has_no_byte() -> None:
    assert exporter(Spell(Fault.EMPTY, 20, 70)).page(60) == b""
    assert exporter(Spell(Fault.EMPTY, 20, 70)).page(70) == exporter().page(70)


def test_lost_labels_name_no_pod_and_keep_the_numbers() -> None:
    page = exporter(Spell(Fault.LOST_LABELS, 20)).page(60)
    assert b"pod=" not in page
    assert b"namespace=" not in page
    assert numbers(page) == numbers(exporter().page(60))


def test_timestamps_are_the_times_of_the_collect_and_freeze_with_it() -> None:
    simulated = exporter(Spell(Fault.TIMESTAMPS, 0), Spell(Fault.FREEZE, 52.0))
    for now, collected in ((49.0, 46.0), (80.0, 51.0)):
        families = text_string_to_metric_families(simulated.page(now).decode())
        stamps = {sample.timestamp for family in families for sample in family.samples}
        assert stamps == {simulated.epoch + collected}


def test_energy_counter_that_was_reset_starts_from_nothing_and_counts_on() -> None:
    simulated = exporter(Spell(Fault.ENERGY_RESET, 43.0))
    before, after, later = (energies(simulated.page(now)) for now in (45, 46, 51))
    assert all(a > b for a, b in zip(before, after, strict=True))
    assert all(0 < a < 4000 * 700 for a in after)
    assert all(a < b for a, b in zip(after, later, strict=True))


def test_transport_faults_do_not_touch_the_page() -> None:
    spells = tuple(Spell(fault, 0) for fault in TRANSPORT)
    assert exporter(*spells).page(60) == exporter().page(60)
    assert not set(MEASURED) & set(TRANSPORT)


def test_faults_reign_from_start_to_before_end_in_a_fixed_order() -> None:
    spells = (Spell(Fault.HANG, 5, 9), Spell(Fault.NAN, 5))
    assert list(reigning(spells, 5)) == [Fault.NAN, Fault.HANG]
    assert list(reigning(spells, 9)) == [Fault.NAN]
    assert not reigning(spells, 4.9)
