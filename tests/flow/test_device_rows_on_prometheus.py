"""How device rows of a large fleet are asked for, held against a real Prometheus whose samples' times are known."""

from collections.abc import Iterator

import pytest

from adapter.core.lag import Heard, Lag
from adapter.promql.rows import (
    EQUAL_TIMES,
    TAG,
    TIMES,
    device_rows,
    device_rows_at,
    newest_rows,
    of_targets,
    sample_rows,
)
from adapter.sources.promapi import Sample
from adapter.sources.scrapes import Target, looks, newest
from tests.flow.known_page import Scene, known_scene
from tests.flow.prometheus_server import ask

pytestmark = pytest.mark.prometheus

HEARD = Heard(0.0, 0.1, 0.0, None)
FAMILIES = ["util", "queue", "old"]  # of `old` there is one series, so its times cannot differ


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with known_scene(tmp_path_factory.mktemp("prometheus")) as found:
        yield found


def samples(scene: Scene, query: str) -> list[Sample]:
    return [Sample(row["metric"], float(row["value"][1])) for row in scene.rows(query)]


def target(scene: Scene) -> Target:
    ((job, instance),) = {(row["metric"]["job"], row["metric"]["instance"]) for row in scene.rows("util")}
    return job, instance


def test_newest_scrape_of_a_target_is_that_of_its_newest_series(scene: Scene) -> None:
    assert newest(samples(scene, newest_rows(FAMILIES))) == {target(scene): scene.born(5)}


def test_rows_asked_for_by_target_mean_the_same_looks(scene: Scene) -> None:
    whole = samples(scene, device_rows(FAMILIES))
    some = samples(scene, device_rows_at([target(scene), ("other", "[::1]:9400")], FAMILIES))
    assert looks(some, FAMILIES, "prom", HEARD, Lag()) == looks(whole, FAMILIES, "prom", HEARD, Lag())
    tags = {sample.labels[TAG] for sample in some}
    assert f"{EQUAL_TIMES}2" in tags
    assert f"{TIMES}2" not in tags
    assert f"{EQUAL_TIMES}0" not in tags  # its series have times of their own
    assert f"{TIMES}0" in tags


def test_rows_of_other_targets_do_not_come(scene: Scene) -> None:
    job, instance = target(scene)
    others = [(job, instance.replace(".", "x")), ("other", instance)]
    assert len(samples(scene, device_rows_at(others[:1], FAMILIES))) == 1  # the clock
    assert len(samples(scene, device_rows_at(others[1:], FAMILIES))) == 1


def test_samples_come_with_the_times_of_one_series_each(scene: Scene) -> None:
    answer = ask(scene.url, sample_rows(["util", "old"], of_targets([target(scene)]), "15m"))
    found = {len(series["values"]) for series in answer["data"]["result"]}
    assert len(answer["data"]["result"]) == 5
    assert found == {2}  # what came at the first scrape, and what all others repeat
