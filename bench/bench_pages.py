"""What a look at one exporter costs, from its bytes to the feed's readings, in a fleet of a thousand with eight GPUs.

One look must stay far below 1,000 microseconds: one core then keeps up with any fleet that is polled at a
millisecond per target (core/timing.py).
"""

import time
from collections.abc import Mapping

from adapter.core.attribution import GpuMetric
from adapter.core.gpu import Owner
from adapter.core.pace import Pace
from adapter.core.pods import Pod, PodIndex
from adapter.core.profiles import PROFILES, families
from adapter.core.samples import Look
from adapter.demo.exporter import Exporter, Gpu, gpu_uuid
from adapter.demo.load import Waves
from adapter.sources.devices import DeviceFeed
from adapter.sources.exposition import compile_wanted, scan

NODES, GPUS, ROUNDS = 1000, 8, 3
PACE = Pace("dcgm", collect=5, look=1, pages="live")


def main() -> None:
    profile = PROFILES["gpu_utilization"]
    feed = DeviceFeed("dcgm", "dcgm", [GpuMetric(profile.metric, profile)])
    wanted = compile_wanted(families((profile,)))
    exporters = [_exporter(f"node-{n}") for n in range(NODES)]
    pods = PodIndex(Pod("ml", f"{e.node}-{g.index}", gpus=1, started=-1e6) for e in exporters for g in e.gpus)
    scanned = taken = 0.0
    blocks: list[Mapping[bytes, Mapping[str, str]]] = [{} for _ in exporters]
    for turn in range(ROUNDS):
        now = 10.0 + turn * PACE.collect
        pages = [exporter.page(now) for exporter in exporters]
        for number, (exporter, page) in enumerate(zip(exporters, pages, strict=True)):
            began = time.perf_counter()
            found = scan(page, wanted, blocks[number])
            blocks[number] = found.blocks
            scanned += time.perf_counter() - began
            began = time.perf_counter()
            feed.take(Look("dcgm", exporter.node, now, now, now, found.rows), PACE, pods)
            taken += time.perf_counter() - began
    looks = NODES * ROUNDS
    began = time.perf_counter()
    feed.snapshot()
    published = time.perf_counter() - began
    print(f"{NODES} exporters x {GPUS} GPUs, page {len(pages[0]):,} bytes, {looks} looks")
    print(f"scan    {scanned / looks * 1e6:7.0f} us a look")
    print(f"take    {taken / looks * 1e6:7.0f} us a look")
    print(f"publish {published * 1e3:7.1f} ms a snapshot")


def _exporter(node: str) -> Exporter:
    gpus = (Gpu(i, gpu_uuid(node, i), Waves((0.5,)), Owner("ml", f"{node}-{i}")) for i in range(GPUS))
    return Exporter(node, tuple(gpus), PACE.collect)


if __name__ == "__main__":
    main()
