"""One query holds rows of several kinds, and a label tells them apart."""

import promql_parser

from adapter.promql.rows import device_rows


def test_device_rows_hold_value_and_time_of_every_family_and_the_clock() -> None:
    assert device_rows(["UTIL", "ENERGY"]).splitlines() == [
        '((label_replace({__name__="UTIL"}, "fresh_q", "v0", "", "")',
        'or label_replace(timestamp({__name__="UTIL"}), "fresh_q", "t0", "", ""))',
        'or (label_replace({__name__="ENERGY"}, "fresh_q", "v1", "", "")',
        'or (label_replace(timestamp({__name__="ENERGY"}), "fresh_q", "t1", "", "")',
        'or label_replace(vector(time()), "fresh_q", "now", "", ""))))',
    ]


def test_device_rows_are_narrowed_by_the_same_matchers_everywhere() -> None:
    query = device_rows(["UTIL", "odd.name"], ['namespace=~"a|b"', 'job="dcgm"'])
    assert query.count('{__name__="UTIL",namespace=~"a|b",job="dcgm"}') == 2
    assert query.count('{__name__="odd.name",namespace=~"a|b",job="dcgm"}') == 2
    assert promql_parser.parse(query) is not None
