"""What it costs to read 1,000 nodes of 8 GPUs through a Prometheus: 15 s between scrapes, a read every 3 s.

The server is a process of its own that answers as Prometheus does, 17 labels a row; the first read brings every target,
a later one those that were scraped since, about a fifth. "stall": the longest time for which the event loop did nothing
else. Run as `python bench/bench_profile.py`, with other numbers of nodes and reads if wanted.
"""

import asyncio
import json
import multiprocessing
import re
import sys
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from typing import ClassVar, Final

from adapter.core.attribution import GpuMetric
from adapter.core.lag import Heard, Lag
from adapter.core.pace import Pace
from adapter.core.pods import Pod, PodIndex
from adapter.core.profiles import PROFILES, families
from adapter.promql.rows import TAG
from adapter.settings.groups import Prometheus
from adapter.sources.connection import session
from adapter.sources.profile import ProfileReader
from adapter.sources.promapi import Sample, vector
from adapter.sources.prometheus import Evaluation, PrometheusServer
from adapter.sources.scrapes import looks

GPUS: Final = 8
SCRAPE: Final = 15.0
TTL: Final = 3.0
METRICS: Final = [GpuMetric(profile.metric, profile) for profile in PROFILES.values()]
FAMILIES: Final = families(tuple(PROFILES.values()))
MARK: Final = "@value@"


def labels(node: int, gpu: int) -> dict[str, str]:
    pod = f"p-{node}-{gpu}"
    return {
        "DCGM_FI_DRIVER_VERSION": "550.54.15",
        "Hostname": f"node-{node}",
        "UUID": f"GPU-{node:04d}-{gpu}-0a1b2c3d",
        "container": "exporter",
        "device": f"nvidia{gpu}",
        "endpoint": "gpu-metrics",
        "gpu": str(gpu),
        "exported_container": "srv",
        "exported_namespace": "ml",
        "exported_pod": pod,
        "instance": instance(node),
        "job": "nvidia-dcgm-exporter",
        "modelName": "NVIDIA H100 80GB HBM3",
        "namespace": "gpu-operator",
        "pci_bus_id": "00000000:3B:00.0",
        "pod": f"dcgm-exporter-{node:05d}",
        "service": "nvidia-dcgm-exporter",
    }


def instance(node: int) -> str:
    return f"10.0.{node // 250}.{node % 250}:9400"


def row(metric: dict[str, str], value: str, at: float = 0.0) -> str:
    return json.dumps({"metric": metric, "value": [at, value]}, separators=(",", ":"))


class Handler(BaseHTTPRequestHandler):
    """One target's rows are kept as text, and differ from scrape to scrape only in one value and one time."""

    protocol_version = "HTTP/1.1"
    nodes: ClassVar[int]
    kept: ClassVar[dict[int, str]] = {}

    def do_GET(self) -> None:
        self.send({"activeTargets": []})

    def do_POST(self) -> None:
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        query, now = form["query"][0], time.time()
        rows = [row({TAG: tag}, repr(now)) for tag in re.findall(r'"(now\w*)"', query)]
        for node in self.asked(query):
            stamp = scraped(node, now)
            if '"v0"' in query:
                rows.append(self.rows(node).replace(MARK, f"{stamp:.3f}"))
            else:
                rows.append(row({"job": "nvidia-dcgm-exporter", "instance": instance(node), TAG: "t0"}, f"{stamp:.3f}"))
        self.send_text(f'{{"status":"success","data":{{"resultType":"vector","result":[{",".join(rows)}]}}}}')

    def asked(self, query: str) -> list[int]:
        listed = re.search(r'instance=~"([^"]*)"', query)
        if not listed:
            return list(range(self.nodes))
        parts = [name.split(":")[0].split(".") for name in listed[1].replace("\\", "").split("|")]
        return [int(p[2]) * 250 + int(p[3]) for p in parts]

    def rows(self, node: int) -> str:
        if node not in self.kept:
            self.kept[node] = ",".join(rows_of(node))
        return self.kept[node]

    def send(self, data: object) -> None:
        self.send_text(json.dumps({"status": "success", "data": data}))

    def send_text(self, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def scraped(node: int, now: float) -> float:
    phase = SCRAPE * (node * 0.618 % 1)
    return (now - phase) // SCRAPE * SCRAPE + phase


def rows_of(node: int) -> list[str]:
    rows = []
    for gpu in range(GPUS):
        for index, family in enumerate(FAMILIES):
            own = labels(node, gpu)
            value = MARK if "ENERGY" in family else "0.123456"
            rows.append(row({"__name__": family, **own, TAG: f"v{index}"}, value))
    at = {"job": "nvidia-dcgm-exporter", "instance": instance(node)}
    return rows + [row({**at, TAG: f"e{index}"}, MARK) for index in range(len(FAMILIES))]


def serve(nodes: int, told: Connection) -> None:
    Handler.nodes = nodes
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.send(server.server_address[1])
    server.serve_forever()


class Meter(PrometheusServer):
    """Counts what comes."""

    answers: int = 0
    rows_read: int = 0

    async def evaluate(self, query: str) -> Evaluation:
        evaluation = await super().evaluate(query)
        self.answers += 1
        self.rows_read += len(evaluation.samples)
        return evaluation


class Stall:
    """How long the event loop was away at most, seconds."""

    longest = 0.0

    async def watch(self) -> None:
        while True:
            last = time.monotonic()
            await asyncio.sleep(0)
            self.longest = max(self.longest, time.monotonic() - last)
            await asyncio.sleep(0.001)


def one_answer() -> None:
    rows = [text.replace(MARK, "1000.5") for node in range(32) for text in rows_of(node)]
    rows.append(row({TAG: "now"}, "1003"))
    body = f'{{"status":"success","data":{{"resultType":"vector","result":[{",".join(rows)}]}}}}'.encode()
    began = time.process_time()
    samples: list[Sample] = vector(body, "application/json")
    decoded = time.process_time()
    looks(samples, FAMILIES, "prom", Heard(0.0, 0.1, 1003.0, None), Lag())
    looked = time.process_time()
    print(f"one answer of 32 targets: {len(body) / 2**20:.1f} MiB, {len(samples)} rows, ", end="")
    print(f"decode {1e3 * (decoded - began):.0f} ms, looks {1e3 * (looked - decoded):.0f} ms")


async def main(nodes: int, reads: int) -> None:
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=serve, args=(nodes, theirs), daemon=True)
    child.start()
    url = f"http://127.0.0.1:{ours.recv()}"
    pods = PodIndex(Pod("ml", f"p-{n}-{g}", started=-1e6, gpus=1) for n in range(nodes) for g in range(GPUS))
    pace = Pace("prom", 30.0, 0.0, ttl=TTL, pages="live", via="prometheus")
    async with session() as http:
        server = Meter(Prometheus("prom", url), http, time.monotonic)
        reader = ProfileReader("gpu@prom", server, METRICS, pace, time.monotonic)
        for turn in range(reads):
            server.answers = server.rows_read = 0
            stall = Stall()
            watching = asyncio.create_task(stall.watch())
            began, used = time.monotonic(), time.process_time()
            await reader.read(pods)
            took, used = time.monotonic() - began, time.process_time() - used
            watching.cancel()
            print(f"read {turn}: {server.answers} answers, {server.rows_read} rows, took {took:.2f} s, ", end="")
            print(f"{1e3 * used:.0f} ms of CPU ({used / TTL:.0%} of a core), stall {1e3 * stall.longest:.0f} ms")
            await asyncio.sleep(max(0.0, TTL - took))
    child.terminate()


if __name__ == "__main__":
    one_answer()
    asyncio.run(main(*(int(argument) for argument in sys.argv[1:])) if len(sys.argv) > 1 else main(1000, 8))
