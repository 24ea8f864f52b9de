"""A simulated DCGM exporter: it collects every so often *behind* its page, and the page shows the last collect.

Everything is a function of time, so that for any page it is known when its values were true. Pages look like those of
dcgm-exporter 4.0–4.8 for H100s (label order, number formats, families and units as it prints them).
"""

import hashlib
import math
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from adapter.core.gpu import Owner
from adapter.core.points import Device
from adapter.core.timing import Pages
from adapter.demo.faults import MEASURED, Fault, Spell, reigning
from adapter.demo.load import IDLE, Load

IDLE_WATTS, BUSY_WATTS, LIMIT_WATTS = 70.0, 640.0, 700.0  # H100 SXM
BOARD_MIB = 81559
WEIGHTS = 0.75  # of the board's memory: stays when nothing runs
ENERGY_BEFORE = 300_000_000_000  # mJ that the counter showed at time 0
JITTER = 0.004  # ratio by which profiling values differ from collect to collect


def weights(_: float) -> float:
    return WEIGHTS


@dataclass(frozen=True, slots=True)
class Gpu:
    """owner: the pod that holds it, None for a free one. memory: share of the board's memory in use at a time (0–1)."""

    index: int
    uuid: str
    load: Load = IDLE
    owner: Owner | None = None
    memory: Callable[[float], float] = weights

    @property
    def device(self) -> Device:
        return Device(self.uuid)


class Measured(NamedTuple):
    """One GPU's numbers at a collect: percent, ratio 0–1, MiB, W, mJ; the families follow from them."""

    util: float
    engine: float
    memory: int
    watts: float
    energy: int


class Family(NamedTuple):
    name: str
    kind: str
    help: str
    text: Callable[[Measured], str]


GPU_UTIL = "DCGM_FI_DEV_GPU_UTIL"
FAMILIES = (
    Family("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz).", lambda m: "1980" if m.util else "345"),
    Family("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).", lambda m: f"{30 + m.watts / 15:.0f}"),
    Family("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W).", lambda m: f"{m.watts:.6f}"),
    Family(
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        "counter",
        "Total energy consumption since boot (in mJ).",
        lambda m: str(m.energy),
    ),
    Family("DCGM_FI_DEV_POWER_MGMT_LIMIT", "gauge", "Power limit (in W).", lambda _: f"{LIMIT_WATTS:.6f}"),
    Family(GPU_UTIL, "gauge", "GPU utilization (in %).", lambda m: f"{m.util:.0f}"),
    Family("DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Memory utilization (in %).", lambda m: f"{0.4 * m.util:.0f}"),
    Family("DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB).", lambda m: str(BOARD_MIB - m.memory)),
    Family("DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB).", lambda m: str(m.memory)),
    Family(
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
        "gauge",
        "Ratio of time the graphics engine is active.",
        lambda m: f"{m.engine:.6f}",
    ),
    Family(
        "DCGM_FI_PROF_SM_ACTIVE",
        "gauge",
        "The ratio of cycles an SM has at least 1 warp assigned.",
        lambda m: f"{0.85 * m.engine:.6f}",
    ),
    Family(
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
        "gauge",
        "Ratio of cycles the tensor (HMMA) pipe is active.",
        lambda m: f"{0.4 * m.engine:.6f}",
    ),
    Family(
        "DCGM_FI_PROF_DRAM_ACTIVE",
        "gauge",
        "Ratio of cycles the device memory interface is active sending or receiving data.",
        lambda m: f"{0.3 * m.engine:.6f}",
    ),
)
_UTIL_TEXT = {Fault.NAN: "NaN", Fault.BLANK: "9223372036854775794", Fault.GARBAGE: "808000000", Fault.FALSE_ZERO: "0"}


@dataclass(frozen=True, slots=True)
class Exporter:
    """One node's exporter; all times in seconds on our clock.

    collect, phase: it collects at phase + k × collect. late: each collect comes up to so much later (< collect).
    pages: `live`, the page shows the last collect at each read; `ticker`, a page is built every `collect` from values
    that were collected `lag` earlier, at most `collect`.
    epoch: Unix time when our clock shows 0, for rows that carry timestamps.
    """

    node: str
    gpus: tuple[Gpu, ...]
    collect: float = 5.0
    phase: float = 0.0
    late: float = 0.0
    pages: Pages = "live"
    lag: float = 0.0
    epoch: float = 1_700_000_000.0
    spells: tuple[Spell, ...] = ()

    def collected_at(self, now: float, *, profiling: bool = False) -> float:
        """When the values on the page of `now` were measured; profiling: those of the DCGM_FI_PROF families."""
        stops = (Fault.FREEZE, Fault.PROF_FREEZE) if profiling else (Fault.FREEZE,)
        at = self._last_collect(now - self._lag)
        while freezes := [s.start for s in self.spells if s.fault in stops and s.reigns(at)]:
            at = self._last_collect(math.nextafter(min(freezes), -math.inf))
        return at

    def page(self, now: float) -> bytes:
        """The page that is read at `now`; what the server does to it on the way is the server's."""
        if Fault.EMPTY in reigning(self.spells, now):
            return b""
        collected = self.collected_at(now)
        built = collected + self._lag if self.pages == "ticker" else now
        named = Fault.LOST_LABELS not in reigning(self.spells, built)
        stamp = f" {(self.epoch + collected) * 1000:.0f}" if Fault.TIMESTAMPS in reigning(self.spells, built) else ""
        util = next((f for f in reigning(self.spells, collected) if f in MEASURED), None)
        profiled = self.collected_at(now, profiling=True)
        rows = [(self._labels(gpu, named=named), self.measured(gpu, collected, profiled)) for gpu in self.gpus]
        return "".join(_family(family, rows, stamp, util) for family in FAMILIES).encode()

    def truth(self, t: float) -> Mapping[Device, float]:
        """What GPU_UTIL would be if it were collected at `t`: percent, 0–100."""
        return {gpu.device: 100 * gpu.load.at(t) for gpu in self.gpus}

    def measured(self, gpu: Gpu, at: float, profiled: float) -> Measured:
        """A GPU's numbers in a collect at `at`, with the ratios of a collect at `profiled`."""
        load = gpu.load.at(at)
        watts = IDLE_WATTS + (BUSY_WATTS - IDLE_WATTS) * load + _noise(f"{gpu.uuid} {at!r}")
        memory = round(BOARD_MIB * gpu.memory(at))
        return Measured(100 * load, _engine(gpu, profiled), memory, watts, self._energy(gpu, at))

    @property
    def _lag(self) -> float:
        return self.lag if self.pages == "ticker" else 0.0

    def _energy(self, gpu: Gpu, at: float) -> int:
        resets = [s.start for s in self.spells if s.fault is Fault.ENERGY_RESET and s.start <= at]
        since, before = (max(resets), 0) if resets else (0.0, ENERGY_BEFORE)
        full = gpu.load.total(at) - gpu.load.total(since)
        return before + int(1000 * (IDLE_WATTS * (at - since) + (BUSY_WATTS - IDLE_WATTS) * full))

    def _last_collect(self, t: float) -> float:
        k = math.floor((t - self.phase) / self.collect) + 1
        while self._collect(k) > t:
            k -= 1
        return self._collect(k)

    def _collect(self, k: int) -> float:
        lateness = self.late * (0.5 + 0.5 * _noise(f"{self.node} {k}")) if self.late else 0.0
        return self.phase + k * self.collect + lateness

    def _labels(self, gpu: Gpu, *, named: bool) -> str:
        labels = {
            "gpu": str(gpu.index),
            "UUID": gpu.uuid,
            "pci_bus_id": f"00000000:{0x19 + 0x11 * gpu.index:02X}:00.0",
            "device": f"nvidia{gpu.index}",
            "modelName": "NVIDIA H100 80GB HBM3",
            "Hostname": self.node,
            "DCGM_FI_DRIVER_VERSION": "550.54.15",
        }
        if named and gpu.owner:
            labels |= {"container": "main", "namespace": gpu.owner.namespace, "pod": gpu.owner.pod}
        return ",".join(f'{name}="{value}"' for name, value in labels.items())


def gpu_uuid(node: str, index: int) -> str:
    """A UUID as the driver would print it, always the same for the same place."""
    return f"GPU-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{index}.{node}')}"


def _family(family: Family, rows: list[tuple[str, Measured]], stamp: str, util: Fault | None) -> str:
    if family.name != GPU_UTIL:
        util = None
    if util is Fault.SERIES_GONE:
        return ""
    lines = [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}"]
    for labels, measured in rows:
        text = _UTIL_TEXT[util] if util else family.text(measured)
        lines.append(f"{family.name}{{{labels}}} {text}{stamp}")
    return "\n".join(lines) + "\n"


def _engine(gpu: Gpu, at: float) -> float:
    """Near the load but never twice the same, as averages are; an idle engine is plainly 0."""
    load = gpu.load.at(at)
    return min(max(load + JITTER * _noise(f"{gpu.uuid} {at!r}"), 0.0001), 0.9999) if load else 0.0


def _noise(seed: str) -> float:
    """Between -1 and 1, the same for the same seed."""
    return int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=6).digest()) / 2**47 - 1
