"""One query holds rows of several kinds, and a label tells them apart."""

import promql_parser

from adapter.promql.rows import device_rows, device_rows_at, newest_rows, of_targets, sample_rows, source_times


def test_device_rows_hold_value_and_time_of_every_family_and_the_clock() -> None:
    assert device_rows(["UTIL", "ENERGY"]).splitlines() == [
        '((label_replace(vector(time()), "fresh_q", "now", "", "")',
        'or label_replace({__name__="UTIL"}, "fresh_q", "v0", "", ""))',
        'or (label_replace(timestamp({__name__="UTIL"}), "fresh_q", "t0", "", "")',
        'or (label_replace({__name__="ENERGY"}, "fresh_q", "v1", "", "")',
        'or label_replace(timestamp({__name__="ENERGY"}), "fresh_q", "t1", "", ""))))',
    ]


def test_device_rows_are_narrowed_by_the_same_matchers_everywhere() -> None:
    query = device_rows(["UTIL", "odd.name"], ['namespace=~"a|b"', 'job="dcgm"'])
    assert query.count('{__name__="UTIL",namespace=~"a|b",job="dcgm"}') == 2
    assert query.count('{__name__="odd.name",namespace=~"a|b",job="dcgm"}') == 2
    assert promql_parser.parse(query) is not None


def test_targets_are_told_by_job_and_instance_whatever_characters_they_hold() -> None:
    matchers = of_targets([("a.b", "10.0.0.1:9400"), ("", "[::1]:9400"), ("a.b", 'q"|(')])
    assert matchers == [
        r'job=~"|a\\.b"',
        r'instance=~"10\\.0\\.0\\.1:9400|\\[::1\\]:9400|q\"\\|\\("',
    ]
    assert promql_parser.parse(device_rows(["UTIL"], matchers)) is not None


def test_newest_scrapes_are_one_row_per_target_however_many_families() -> None:
    query = newest_rows(["UTIL", "ENERGY", "odd.name"])
    assert query.count('"t0"') == 2  # the first family's within, and the whole's
    assert query.count("max by (job, instance) (timestamp(") == 3
    assert promql_parser.parse(query) is not None


def test_samples_are_those_of_the_families_at_the_targets() -> None:
    selector = sample_rows(["UTIL", "ENERGY", "UTIL"], of_targets([("a", "e")]), "15m")
    assert selector == '{__name__=~"ENERGY|UTIL",job=~"a",instance=~"e"}[15m]'
    assert promql_parser.parse(selector) is not None


def test_rows_of_many_targets_name_them_at_every_selector() -> None:
    query = device_rows_at([("a", "e"), ("a", "f")], ["UTIL", "ENERGY"])
    assert query.count("__name__=") == query.count('job=~"a",instance=~"e|f"}') == 12
    assert promql_parser.parse(query) is not None


def test_sources_are_told_by_the_objects_labels_at_first_also_those_that_are_gone() -> None:
    assert source_times(["x", "y"], ["pod"]).splitlines() == [
        '(label_replace(vector(time()), "fresh_q", "now", "", "")',
        'or (label_replace(min by (pod) (timestamp(x)), "fresh_q", "s0", "", "")',
        'or label_replace(min by (pod) (timestamp(y)), "fresh_q", "s1", "", "")))',
    ]
    gone = "(min by (pod) (timestamp(x)) or max by (pod) (max_over_time(timestamp(x)[5m:5s])))"
    assert gone in source_times(["x"], ["pod"], 300.0)
    assert promql_parser.parse(source_times(["x"], ["pod"], 302.0)) is not None
