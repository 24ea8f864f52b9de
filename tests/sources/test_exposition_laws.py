"""Any page: read as prometheus_client reads it where it is sound, and line by line where it is not."""

from collections.abc import Iterator

from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from adapter.core.samples import Row
from tests.sources.pages import GARBAGE, LINES, NAME, NAMES, Sound, comparable, read, sound_rows


def by_prometheus_client(text: str) -> Iterator[Row]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name in NAMES:
                labels = {name: value for name, value in sample.labels.items() if value}
                wall = sample.timestamp
                assert wall is None or isinstance(wall, float)
                yield Row(sample.name, labels, float(sample.value), wall)


@given(lines=LINES, last=st.sampled_from(["", "\n"]))
def test_sound_pages_are_read_as_prometheus_client_reads_them(lines: list[str], last: str) -> None:
    text = "\n".join(lines) + last
    page = read(text)
    assert comparable(page.rows) == comparable(tuple(by_prometheus_client(text)))
    assert page.skipped == 0


@given(sound=sound_rows(NAMES))
def test_what_was_written_is_read(sound: Sound) -> None:
    wall = None if sound.stamp is None else sound.stamp / 1000
    expected = Row(sound.name, {name: value for name, value in sound.labels if value}, float(sound.number), wall)
    assert comparable(read(sound.text).rows) == comparable((expected,))


@given(before=LINES, garbage=GARBAGE, after=LINES)
@example([f'{NAME}{{gpu="0"}} 1'], f'{NAME}{{gpu="'.encode(), [f'{NAME}{{gpu="1"}} 2'])
def test_a_bad_row_never_changes_another_row(before: list[str], garbage: bytes, after: list[str]) -> None:
    head, tail = "\n".join(["", *before, ""]).encode(), "\n".join(["", *after, ""]).encode()
    page, bad = read(head + garbage + tail), read(garbage)
    assert comparable(page.rows) == comparable(read(head).rows + bad.rows + read(tail).rows)
    assert page.skipped == bad.skipped


@given(page=st.lists(GARBAGE, max_size=8).map(b"\n".join), earlier=st.lists(GARBAGE, max_size=8).map(b"\n".join))
def test_remembered_labels_change_no_result(page: bytes, earlier: bytes) -> None:
    alone, after = read(page), read(page, read(earlier).blocks)
    again = read(page, alone.blocks)
    assert comparable(alone.rows) == comparable(after.rows) == comparable(again.rows)
    assert alone.skipped == after.skipped == again.skipped
    assert alone.blocks == after.blocks == again.blocks


@given(sound=sound_rows(NAMES))
def test_the_same_label_bytes_are_one_mapping_from_page_to_page(sound: Sound) -> None:
    first = read(f"{sound.text}\n{sound.text}\n")
    second = read(sound.text, first.blocks)
    assert first.rows[0].labels is first.rows[1].labels is second.rows[0].labels
