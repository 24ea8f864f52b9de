"""One fault at a time, each long enough to show and to recover from, at any rhythm."""

from itertools import pairwise

import pytest

from adapter.demo.fleet import NODES
from adapter.demo.script import TOLD, Script, recovers_within, script, shows_within
from adapter.demo.stage import FAST, SLOW, Rhythm

RHYTHMS = pytest.mark.parametrize("rhythm", [pytest.param(FAST, id="fast"), pytest.param(SLOW, id="slow")])


@RHYTHMS
def test_limits_are_those_of_the_adapter(rhythm: Rhythm) -> None:
    assert rhythm.limit == {FAST: 2.0, SLOW: 9.0}[rhythm]


@RHYTHMS
def test_every_fault_has_its_scene_on_a_node_that_exists(rhythm: Rhythm) -> None:
    scenes = script(rhythm).scenes
    assert [scene.fault for scene in scenes] == list(TOLD)
    assert {scene.node for scene in scenes} == set(NODES)


@RHYTHMS
def test_fault_lasts_until_it_must_show_and_is_seen_by_several_observations(rhythm: Rhythm) -> None:
    for scene in script(rhythm).scenes:
        assert scene.length >= shows_within(scene.fault, rhythm) + 3 * rhythm.observe


@RHYTHMS
def test_next_fault_waits_until_the_last_one_must_be_over(rhythm: Rhythm) -> None:
    played = script(rhythm)
    starts = [scene.start for scene in played.scenes[1:]] + [played.length]
    for scene, then in zip(played.scenes, starts, strict=True):
        assert then > scene.end + recovers_within(scene.fault, rhythm) + 2 * rhythm.observe


@RHYTHMS
def test_fleet_is_healthy_at_first_for_longer_than_a_first_value_takes(rhythm: Rhythm) -> None:
    assert script(rhythm).scenes[0].start > rhythm.collect + 2 * rhythm.poll


def test_fast_script_is_short() -> None:
    assert script(FAST).length < 40


@RHYTHMS
def test_script_tells_what_plays_and_when_that_changes(rhythm: Rhythm) -> None:
    played = script(rhythm)
    assert played.at(0.0) is None
    for scene in played.scenes:
        assert played.at(scene.start) == played.at(scene.end - 0.01) == scene
        assert played.at(scene.end) is None
        assert played.change_after(scene.start) == scene.end
    edges = _edges(played)
    assert edges == sorted(edges)
    assert all(played.change_after(a) == b for a, b in pairwise(edges))


def _edges(played: Script) -> list[float]:
    return [0.0, *[edge for scene in played.scenes for edge in (scene.start, scene.end)], played.length]
