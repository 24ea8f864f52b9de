"""Device rows of one evaluation: the newest scrape of each target, a (job, instance), is one look."""

import pytest

from adapter.core.lag import Heard, Lag
from adapter.promql.rows import NOW, TAG
from adapter.sources.promapi import Sample
from adapter.sources.scrapes import looks, name_of, newest

SERVER = 1_700_000_000.0  # what the server's clock showed at the evaluation
HEARD = Heard(sent=500.0, received=500.1, server_time=SERVER, date=None)


def device(tag: str, number: float, gpu: str, instance: str = "10.0.0.1:9400", job: str = "dcgm") -> Sample:
    return Sample({"UUID": gpu, "instance": instance, "job": job, TAG: tag, "pod": ""}, number)


def test_newest_scrape_of_a_target_is_one_look() -> None:
    samples = [
        device("v0", 50, "GPU-a"),
        device("t0", SERVER - 5, "GPU-a"),
        device("v0", 60, "GPU-b"),
        device("t0", SERVER - 20, "GPU-b"),  # an earlier scrape: the newest does not show it
        device("v0", 70, "GPU-c", "10.0.0.2:9400"),
        device("t0", SERVER - 9, "GPU-c", "10.0.0.2:9400"),
        device("v0", 80, "GPU-d"),  # a value whose time is not told
    ]
    found = looks(samples, ["UTIL"], "prom", HEARD, Lag())
    assert {target: [(r.labels["UUID"], r.value) for r in look.rows] for target, look in found.items()} == {
        ("dcgm", "10.0.0.1:9400"): [("GPU-a", 50)],
        ("dcgm", "10.0.0.2:9400"): [("GPU-c", 70)],
    }
    look = found["dcgm", "10.0.0.1:9400"]
    assert (look.target, look.stamp, look.began) == ("dcgm/10.0.0.1:9400", SERVER - 5, 495)
    assert look.rows[0].labels.keys() == {"UUID", "instance", "job"}  # what is empty is not there


def test_two_jobs_over_one_instance_are_two_targets() -> None:
    samples = [
        device("v0", 50, "GPU-a", job="slow"),
        device("t0", SERVER - 50, "GPU-a", job="slow"),
        device("v0", 60, "GPU-a", job="fast"),
        device("t0", SERVER - 5, "GPU-a", job="fast"),
    ]
    found = looks(samples, ["UTIL"], "prom", HEARD, Lag())
    assert {target: look.stamp for target, look in found.items()} == {
        ("slow", "10.0.0.1:9400"): SERVER - 50,
        ("fast", "10.0.0.1:9400"): SERVER - 5,
    }


def test_time_that_all_series_of_a_family_share_is_told_once_per_target() -> None:
    at = {"job": "dcgm", "instance": "10.0.0.1:9400"}
    samples = [
        device("v0", 50, "GPU-a"),
        device("v0", 60, "GPU-b"),
        Sample({**at, TAG: "e0"}, SERVER - 5),
        device("v1", 7, "GPU-a"),
        device("t1", SERVER - 5, "GPU-a"),
        device("v1", 8, "GPU-b"),
        device("t1", SERVER - 20, "GPU-b"),
        device("v0", 70, "GPU-c", "10.0.0.2:9400"),  # of another target
        device("v2", 9, "GPU-a"),  # of another family
    ]
    (look,) = looks(samples, ["UTIL", "POWER", "TEMP"], "prom", HEARD, Lag()).values()
    shown = [(row.name, row.labels["UUID"], row.value) for row in look.rows]
    assert shown == [("UTIL", "GPU-a", 50), ("UTIL", "GPU-b", 60), ("POWER", "GPU-a", 7)]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        pytest.param(("dcgm", "e:1"), "dcgm/e:1", id="both"),
        pytest.param(("", "e:1"), "e:1", id="no job"),
        pytest.param(("dcgm", ""), "dcgm", id="no instance"),
    ],
)
def test_target_is_named_by_what_it_has(target: tuple[str, str], name: str) -> None:
    assert name_of(target) == name


def test_rows_without_an_instance_are_one_target_per_job() -> None:
    bare = [Sample({"UUID": gpu, "job": job}, 1.0) for gpu, job in (("a", "x"), ("b", "x"), ("c", "y"))]
    samples = [
        Sample({**s.labels, TAG: tag}, number) for s in bare for tag, number in (("v0", 1.0), ("t0", SERVER - 1))
    ]
    found = looks(samples, ["UTIL"], "prom", HEARD, Lag())
    assert {look.target: len(look.rows) for look in found.values()} == {"x": 2, "y": 1}


def test_newest_scrapes_are_told_by_target() -> None:
    rows = [Sample({"job": "a", "instance": "e", TAG: "t0"}, 5.0), Sample({TAG: NOW}, 9.0)]
    assert newest(rows) == {("a", "e"): 5.0}
