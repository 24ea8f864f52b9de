"""What one look at an exporter's page costs, beside prometheus_client's parser on the same page in the same run.

The page is a node's as dcgm-exporter prints it: 8 GPUs, 25 families, 10 labels a row, about 62 KB. "cold": no labels
are known yet, as at the first look; "warm": they are all known, as at every look at which no pod came or went.
Run as `python bench/bench_scan.py`.
"""

from collections.abc import Callable
from functools import partial
from timeit import repeat
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from adapter.core.profiles import PROFILES, families
from adapter.sources.exposition import compile_wanted, scan

GPUS: Final = 8
DEV: Final = (
    "GPU_UTIL FB_USED POWER_USAGE TOTAL_ENERGY_CONSUMPTION SM_CLOCK MEM_CLOCK MEMORY_TEMP GPU_TEMP PCIE_REPLAY_COUNTER "
    "MEM_COPY_UTIL ENC_UTIL DEC_UTIL XID_ERRORS FB_FREE FB_RESERVED NVLINK_BANDWIDTH_TOTAL VGPU_LICENSE_STATUS "
    "UNCORRECTABLE_REMAPPED_ROWS CORRECTABLE_REMAPPED_ROWS ROW_REMAP_FAILURE"
)
PROF: Final = "GR_ENGINE_ACTIVE SM_ACTIVE PIPE_TENSOR_ACTIVE DRAM_ACTIVE PCIE_TX_BYTES"
FAMILIES: Final = (
    *(f"DCGM_FI_DEV_{name}" for name in DEV.split()),
    *(f"DCGM_FI_PROF_{name}" for name in PROF.split()),
)
WANTED: Final = {
    1: FAMILIES[:1],
    3: (*FAMILIES[:2], "DCGM_FI_PROF_GR_ENGINE_ACTIVE"),
    12: families(tuple(PROFILES.values())),  # what the built-in profiles want; nine of them are on this page
    25: FAMILIES,
}


def page() -> bytes:
    lines: list[str] = []
    for family in FAMILIES:
        lines += [f"# HELP {family} What the field {family} tells (in its unit).", f"# TYPE {family} gauge"]
        lines += [f"{family}{{{labels(gpu)}}} {value(family, gpu)}" for gpu in range(GPUS)]
    return ("\n".join(lines) + "\n").encode()


def labels(gpu: int) -> str:
    return (
        f'gpu="{gpu}",UUID="GPU-5e4c6d1f-8f0a-4a6e-9d57-3b1c7a90e2d{gpu}",pci_bus_id="00000000:{gpu + 1}9:00.0",'
        f'device="nvidia{gpu}",modelName="NVIDIA H100 80GB HBM3",Hostname="gpu-node-0007",'
        f'DCGM_FI_DRIVER_VERSION="550.54.15",container="main",namespace="ml-serving",pod="llm-7c9d8f6b54-x2x{gpu}k"'
    )


def value(family: str, gpu: int) -> str:
    return f"{0.09 * gpu:.6f}" if "_PROF_" in family else str(60 + gpu)


def milliseconds(work: Callable[[], object], loops: int) -> float:
    """Of one call: the best of thirty rounds of `loops` calls; in the others the machine had more to do."""
    return min(repeat(work, number=loops, repeat=30)) / loops * 1000


def main() -> None:
    body = page()
    text = body.decode()
    print(f"page: {len(body)} bytes, {len(body.splitlines())} lines, {GPUS} GPUs, {len(FAMILIES)} families")
    client = milliseconds(lambda: list(text_string_to_metric_families(text)), 3)
    print(f"prometheus_client, all families: {client:.3f} ms")
    print("families  warm ms  times faster  cold ms  times faster")
    for count, names in WANTED.items():
        wanted = compile_wanted(names)
        known = scan(body, wanted, {})
        assert len(known.rows) == GPUS * len(set(names) & set(FAMILIES))
        warm = milliseconds(partial(scan, body, wanted, known.blocks), 100)
        cold = milliseconds(partial(scan, body, wanted, {}), 50)
        print(f"{count:8}  {warm:7.3f}  {client / warm:12.0f}  {cold:7.3f}  {client / cold:12.0f}")


if __name__ == "__main__":
    main()
