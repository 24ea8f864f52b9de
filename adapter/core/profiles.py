"""What people scale GPUs on, as data: which fields carry it, in which unit, and what shows that it is new.

A value's age is the age of its heartbeat, so each field belongs to a family that moves by itself (dcgm-exporter: DEV_*
fields are read from the driver, PROF_* fields from the profiling module, and either can die alone).
"""

from dataclasses import dataclass

ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"  # mJ since the driver loaded; moves with every collect
POWER = "DCGM_FI_DEV_POWER_USAGE"  # W
TEMPERATURE = "DCGM_FI_DEV_GPU_TEMP"  # °C
POWER_LIMITS = ("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "DCGM_FI_DEV_POWER_MGMT_LIMIT")  # W
ENGINE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"  # ratio 0–1
SM_ACTIVE = "DCGM_FI_PROF_SM_ACTIVE"  # ratio 0–1
PROF_FIELDS = (  # the last one shows a small constant on idle parts (DCGM issue 65)
    ENGINE,
    SM_ACTIVE,
    "DCGM_FI_PROF_SM_OCCUPANCY",
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    "DCGM_FI_PROF_DRAM_ACTIVE",
)
WITNESSES = (ENERGY, POWER, TEMPERATURE, *POWER_LIMITS, *PROF_FIELDS)

# Board power limits in W by part of `modelName` (vendor data sheets), for pages that show none; the first match counts.
MODEL_POWER_LIMITS = (
    ("H200", 700.0),
    ("H100 PCIe", 350.0),
    ("H100 NVL", 400.0),
    ("H100", 700.0),
    ("A100-PCIE", 250.0),
    ("A100 80GB PCIe", 300.0),
    ("A100", 400.0),
    ("L40S", 350.0),
    ("A40", 300.0),
    ("A10G", 300.0),
    ("V100-PCIE", 250.0),
    ("V100", 300.0),
    ("T4", 70.0),
)


@dataclass(frozen=True, slots=True)
class Field:
    """One family on the page: `value × scale` is in the profile's unit, and lies between 0 and `high` there."""

    name: str
    scale: float
    high: float

    @property
    def profiling(self) -> bool:
        return self.name.startswith("DCGM_FI_PROF_")


@dataclass(frozen=True, slots=True)
class Profile:
    """A thing to scale on. `fields` for whole GPUs and `mig` for MIG instances, the first one present counts.

    unit: percent (0–100), ratio (0–1) or bytes.
    metric: the Kubernetes name it has by default.
    activity: a 0 here can be contradicted by power and engine activity.
    """

    name: str
    metric: str
    unit: str
    fields: tuple[Field, ...]
    mig: tuple[Field, ...]
    activity: bool = False


_PERCENT_HIGH = 100.5  # drivers round; above is garbage (DCGM issue 199)
_RATIO_HIGH = 1.05  # profiling ratios overshoot by rounding
_MIB = 1024.0 * 1024.0
_MEMORY = (Field("DCGM_FI_DEV_FB_USED", _MIB, 1 << 44),)

PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            "gpu_utilization",
            "nvidia_gpu_utilization",
            "percent",
            (Field("DCGM_FI_DEV_GPU_UTIL", 1.0, _PERCENT_HIGH),),
            (Field(ENGINE, 100.0, 100.0 * _RATIO_HIGH),),
            activity=True,
        ),
        Profile(
            "gpu_engine_active",
            "nvidia_gpu_engine_active",
            "ratio",
            (Field(ENGINE, 1.0, _RATIO_HIGH),),
            (Field(ENGINE, 1.0, _RATIO_HIGH),),
            activity=True,
        ),
        Profile("gpu_memory_used_bytes", "nvidia_gpu_memory_used_bytes", "bytes", _MEMORY, _MEMORY),
    )
}


def families(profiles: tuple[Profile, ...]) -> tuple[str, ...]:
    """Every family that these profiles and their witnesses need, each once, in a fixed order."""
    served = [field.name for profile in profiles for field in (*profile.fields, *profile.mig)]
    return tuple(dict.fromkeys([*served, *WITNESSES]))
