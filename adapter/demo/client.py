"""Asks the running adapter over HTTPS, as an HPA and a person with curl would."""

import json
import shlex
from collections.abc import Callable, Mapping
from urllib.parse import quote

import aiohttp

from adapter.core.errors import SourceError
from adapter.demo.answers import MEMORY, UTILIZATION, Observation, Reply, values
from adapter.demo.fleet import NAMESPACE, Fleet
from adapter.demo.stage import holdings
from adapter.settings.groups import Connection
from adapter.sources.connection import Credentials, Request, fetch

GROUP = "/apis/custom.metrics.k8s.io/v1beta2"
DEADLINE = 5.0
CAP = 1 << 20


class Client:
    """api: where the adapter serves. clock: ours; wall: Unix time; seconds."""

    def __init__(
        self, api: str, http: aiohttp.ClientSession, clock: Callable[[], float], wall: Callable[[], float]
    ) -> None:
        self._api = api
        self._http = http
        self._clock = clock
        self._wall = wall
        self._credentials = Credentials(Connection(insecure_skip_verify=True))  # it has just made its own certificate

    def url(self, metric: str, pod: str = "*", workload: str = "") -> str:
        selector = f"?labelSelector={quote(f'app={workload}', safe='')}" if workload else ""
        return f"{self._api}{GROUP}/namespaces/{NAMESPACE}/pods/{quote(pod, safe='')}/{metric}{selector}"

    def curl(self, workload: str) -> str:
        """A line for a shell."""
        return f"curl -sk {shlex.quote(self.url(UTILIZATION, workload=workload))}"

    async def ask(self, url: str) -> Reply:
        """One question; what comes instead of an answer is the message of a Reply without a code."""
        asked = self._clock()
        try:
            got = await fetch(
                self._http, Request(url, DEADLINE, CAP, "application/json"), self._credentials, self._clock
            )
            body = json.loads(got.content)
        except (SourceError, ValueError) as error:
            return Reply(asked, 0, {"message": f"no answer: {error}"})
        return Reply(asked, got.status, body if isinstance(body, Mapping) else {})

    async def observe(self, fleet: Fleet) -> Observation:
        """Every workload as its HPA asks, then by name each pod that was left out, for its reason."""
        began = self._clock()
        epoch = self._wall() - began
        memory = await self.ask(self.url(MEMORY))
        lists = {w.name: await self.ask(self.url(UTILIZATION, workload=w.name)) for w in fleet.workloads}
        listed = {pod for reply in lists.values() for pod in values(reply)}
        unlisted = [pod for pod in holdings(fleet) if pod not in listed]
        named = {pod: await self.ask(self.url(UTILIZATION, pod)) for pod in unlisted}
        return Observation(began, self._clock(), epoch, lists, named, memory)
