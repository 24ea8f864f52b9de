"""Healthy exporters are served without a gap at the defaults, and frozen ones are withheld within the limit.

Ten minutes in virtual time, with the irregularities of health: collects, looks and answers that come late. Values spell
when they were true, and every quarter of a second everything is asked for as requests ask.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from adapter.core.answer import Catalog, Items, Refusal, Served, answer
from adapter.core.ask import Ask
from adapter.core.attribution import GpuMetric
from adapter.core.gpu import Owner
from adapter.core.points import Reason
from adapter.core.profiles import PROFILES
from adapter.core.rules import Pace
from adapter.core.samples import Row
from adapter.core.selectors import EVERYTHING
from adapter.core.timing import Pages
from adapter.demo.exporter import BOARD_MIB, Exporter, Gpu
from adapter.demo.faults import Fault, Spell
from adapter.demo.load import Waves
from adapter.feeds import gpu_metrics, page_pace
from adapter.poller import PagePoller, WriteLine, poll
from adapter.settings import cache_ttl
from adapter.settings.groups import Dcgm, Metric, Settings, StaticTarget
from adapter.sources.devices import DeviceFeed
from adapter.sources.profile import ProfileReader
from adapter.sources.query import QueryReader
from adapter.store import Store
from adapter.telemetry import Telemetry
from tests import virtual_time
from tests.flow.ageing import NAMESPACE, pods
from tests.flow.dating import MIB, SPAN, spelled
from tests.flow.simulated import Jitter, Page, SimulatedPrometheus
from tests.virtual_time import START, now
