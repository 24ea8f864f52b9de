"""What holds for every source: a good read serves, a failed one changes nothing but the trouble that is told."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import NamedTuple

import aiohttp
import pytest
from aiohttp import web

from adapter.core.answer import Items, Refusal
from adapter.core.points import Point, Reason
from adapter.core.snapshot import Snapshot
from adapter.sources.connection import session
from tests.contract.origin import JSON, SCRAPED, Fault, Origin, answers, running_origin
from tests.contract.sources import CAP, Source, page_source, profile_source, query_source

Build = Callable[[Origin, aiohttp.ClientSession], Source]
SOURCES: dict[str, Build] = {"page": page_source, "profile": profile_source, "query": query_source}


@pytest.fixture
async def origin() -> AsyncIterator[Origin]:
    async with running_origin() as running:
        yield running


@pytest.fixture(params=list(SOURCES))
async def source(request: pytest.FixtureRequest, origin: Origin) -> AsyncIterator[Source]:
    async with session() as http:
        yield SOURCES[request.param](origin, http)


async def hangs(_: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    return web.Response()


async def breaks_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": JSON})
    await response.prepare(request)
    await response.write(b'{"status":"success"')
    if request.transport:
        request.transport.close()
    return response


class Failure(NamedTuple):
    """How the source fails (None: its port is closed), as what that is counted, and what the trouble says."""

    fault: Fault | None
    kinds: frozenset[str]
    words: str = ""


def vector(rows: bytes, more: bytes = b"") -> bytes:
    return b'{"status":"success","data":{"resultType":"vector","result":[%s]}%s}' % (rows, more)


NOW_ROW = b'{"metric":{"fresh_q":"now"},"value":[1700000000,"%s"]}'


def tagged(number: bytes) -> bytes:
    """A GPU's row and its time, under a number of their own."""
    rows = [b'{"metric":{"fresh_q":"%s%s","UUID":"GPU-a"},"value":[1,"1"]}' % (kind, number) for kind in (b"v", b"t")]
    return vector(b",".join([NOW_ROW % b"1700000001", *rows]))


EVERYWHERE = {
    "port closed": Failure(None, frozenset({"connect"}), "cannot be reached"),
    "500": Failure(answers(b"internal error", "text/plain", 500), frozenset({"status"}), "answered 500"),
    "hung": Failure(hangs, frozenset({"timeout"}), "0.3 s"),
    "broken off": Failure(breaks_off, frozenset({"malformed", "connect"})),
    "HTML": Failure(answers(b"<html>busy</html>\n", "text/html"), frozenset({"malformed", "empty"})),
    "nothing": Failure(answers(b""), frozenset({"malformed", "empty"})),
    "cut off": Failure(answers(b'{"status":"succ'), frozenset({"malformed"})),
    "redirect": Failure(answers(b"", status=302, headers={"Location": "/moved"}), frozenset({"redirect"}), "final URL"),
    "too large": Failure(answers(b"#" * (CAP + 1)), frozenset({"too_large"}), f"{CAP}"),
    "garbage": Failure(answers(bytes(range(256)) * 8), frozenset({"malformed"})),
    "compressed": Failure(answers(b"\x1f\x8b", headers={"Content-Encoding": "gzip"}), frozenset({"malformed"})),
}
AT_PROMETHEUS = {
    "partial": Failure(
        answers(vector(b"", b',"warnings":["a store is down"]')), frozenset({"partial"}), "a store is down"
    ),
    "refused": Failure(
        answers(b'{"status":"error","errorType":"execution","error":"too many samples"}', status=422),
        frozenset({"status"}),
        "too many samples",
    ),
    "an answer to another question": Failure(
        answers(vector(b'{"metric":{"fresh_q":"now7"},"value":[1700000001,"1700000001"]}')),
        frozenset({"malformed"}),
        "another question",
    ),
    "no time": Failure(answers(vector(b"")), frozenset({"malformed"}), "server's time"),
    "no number": Failure(answers(vector(NOW_ROW % b"soon")), frozenset({"malformed"})),
    "time is NaN": Failure(answers(vector(NOW_ROW % b"NaN")), frozenset({"malformed"})),
    "time is infinite": Failure(answers(vector(NOW_ROW % b"+Inf")), frozenset({"malformed"})),
    "nested without end": Failure(
        answers(b'{"status":"success","data":{"resultType":"vector","result":' + b"[" * 50_000),
        frozenset({"malformed"}),
    ),
    "not UTF-8": Failure(answers(vector(b'{"metric":{"pod":"\xff"},"value":[1,"1"]}')), frozenset({"malformed"})),
    "scalar": Failure(
        answers(b'{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}'), frozenset({"malformed"})
    ),
}
AT_PROFILES = {
    "no GPU": Failure(answers(vector(NOW_ROW % b"1700000001")), frozenset({"empty"}), "no GPU series"),
    "a family that was not asked for": Failure(answers(tagged(b"99")), frozenset({"empty", "malformed"})),
    "a tag that is no number": Failure(answers(tagged(b"x")), frozenset({"empty", "malformed"})),
}
FAILURES = {
    "page": EVERYWHERE,
    "profile": EVERYWHERE | AT_PROMETHEUS | AT_PROFILES,
    "query": EVERYWHERE | AT_PROMETHEUS,
}
EVERY_FAILURE = [
    pytest.param(SOURCES[source], failure, id=f"{source}-{what}")
    for source, found in FAILURES.items()
    for what, failure in found.items()
]


async def fail(source: Source, failure: Failure) -> None:
    """One read that fails so."""
    source.origin.fault = failure.fault
    source.origin.where = "/metrics" if source.name == "dcgm" else "/api/v1/query"
    if failure.fault is None:
        await source.origin.close()
    await source.read()


async def heal(source: Source) -> Snapshot:
    """The read after the failure is over."""
    source.origin.fault = None
    await source.origin.open()
    return await source.read()


def births(source: Source) -> dict[str, float]:
    said = {pod: source.said(pod) for pod in source.origin.shown}
    return {pod: reading.born for pod, reading in said.items() if isinstance(reading, Point)}


async def test_good_read_serves_what_the_source_shows(source: Source) -> None:
    snapshot = await source.serve()
    assert snapshot.trouble == ""
    assert 0 <= source.origin.clock.now - (snapshot.taken or 0.0) <= SCRAPED
    given = source.answer("p-0")
    assert isinstance(given, Items)
    assert [item.point.value for item in given.items] == [40.0]
    assert source.counted("ok") == 2


@pytest.mark.parametrize(("build", "failure"), EVERY_FAILURE)
async def test_failed_read_changes_nothing_but_the_trouble(origin: Origin, build: Build, failure: Failure) -> None:
    async with session() as http:
        source = build(origin, http)
        before, born = await source.serve(), births(source)
        await fail(source, failure)
        after = source.snapshot
        assert after.trouble
        assert failure.words in after.trouble
        assert (after.readings, after.taken, after.had) == (before.readings, before.taken, before.had)
        assert sum(source.counted(kind) for kind in failure.kinds) == 1
        assert source.counted("ok") == 2
        assert (await heal(source)).trouble == ""
        assert source.counted("ok") == 3
        assert all(younger > born[pod] for pod, younger in births(source).items())


@pytest.mark.parametrize("build", SOURCES.values(), ids=SOURCES.keys())
async def test_source_that_fails_from_the_start_is_pending_and_says_why(origin: Origin, build: Build) -> None:
    async with session() as http:
        source = build(origin, http)
        origin.fault = answers(b"internal error", "text/plain", 500)
        assert (await source.read()).taken is None
        refusal = source.answer("p-0")
        assert isinstance(refusal, Refusal)
        assert "answered 500" in refusal.message
        await heal(source)
        await source.read()
        assert isinstance(source.answer("p-0"), Items)


async def test_readings_age_through_failures_until_they_are_withheld(source: Source) -> None:
    await source.serve()
    born, limit = births(source)["p-0"], max(reading.limit for reading in [source.said("p-0")] if reading.limit)
    for _ in range(10):
        await fail(source, EVERYWHERE["500"])
        served = isinstance(source.answer("p-0"), Items)
        assert served is (source.origin.clock.now - born <= limit)
        assert births(source)["p-0"] == born
    assert not served


@pytest.mark.parametrize("seed", range(3))
async def test_nothing_becomes_younger_by_failures_in_any_order(source: Source, seed: int) -> None:
    await source.serve()
    kinds = [f for what, f in EVERYWHERE.items() if what != "hung"]
    course = Random(seed)  # noqa: S311 - any order, not secret
    for _ in range(12):
        born = births(source)
        if course.random() < 0.5:
            await fail(source, course.choice(kinds))
            assert births(source) == born
        else:
            await heal(source)
            assert all(at >= born[pod] for pod, at in births(source).items())
            assert all(
                at <= source.origin.clock.now - SCRAPED or source.name == "dcgm" for at in births(source).values()
            )


async def test_what_a_good_look_no_longer_shows_is_missing_at_once(source: Source) -> None:
    await source.serve()
    del source.origin.shown["p-0"]
    await source.read()
    refusal = source.answer("p-0")
    assert isinstance(refusal, Refusal)
    assert [withheld.reason for _, withheld in refusal.withheld] == [Reason.MISSING]
    assert isinstance(source.answer("p-1"), Items)


async def test_value_that_is_no_number_is_withheld_alone(source: Source) -> None:
    await source.serve()
    source.origin.shown["p-0"] = math.nan
    await source.read()
    refusal = source.answer("p-0")
    assert isinstance(refusal, Refusal)
    assert [withheld.reason for _, withheld in refusal.withheld] == [Reason.NOT_A_NUMBER]
    assert isinstance(source.answer("p-1"), Items)


APIS = pytest.mark.parametrize(
    ("build", "where"),
    [
        pytest.param(profile_source, "/api/v1/targets", id="profile-targets"),
        pytest.param(query_source, "/api/v1/targets", id="query-targets"),
        pytest.param(query_source, "/api/v1/rules", id="query-rules"),
    ],
)


@pytest.mark.parametrize("what", [what for what in EVERYWHERE if what not in ("port closed", "hung")])
@APIS
async def test_server_without_apis_for_targets_and_rules_serves_all_the_same(
    origin: Origin, build: Build, where: str, what: str
) -> None:
    origin.fault, origin.where = EVERYWHERE[what].fault, where
    async with session() as http:
        source = build(origin, http)
        await source.serve()
        assert isinstance(source.answer("p-0"), Items)


@APIS
async def test_nested_answer_of_those_apis_is_no_answer(origin: Origin, build: Build, where: str) -> None:
    origin.fault, origin.where = answers(b'{"more":' + b"[" * 50_000), where
    async with session() as http:
        source = build(origin, http)
        await source.serve()
        assert isinstance(source.answer("p-0"), Items)
