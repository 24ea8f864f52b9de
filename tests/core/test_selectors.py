"""Label selectors mean, and are refused, as in Kubernetes; its own answers are recorded in golden/kubernetes."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.errors import SelectorError
from adapter.core.selectors import EVERYTHING, Operator, Requirement, Selector, as_object, parse

GOLDEN: Final = json.loads((Path(__file__).parents[1] / "golden/kubernetes/selectors.json").read_text("utf-8"))
ACCEPTED: Final = [case for case in GOLDEN["cases"] if "error" not in case]
REFUSED: Final = [case for case in GOLDEN["cases"] if "error" in case]


def name_of(case: dict[str, Any]) -> str:
    return repr(case["text"][:70])


@pytest.mark.parametrize("case", ACCEPTED, ids=name_of)
def test_what_kubernetes_accepts_is_read_and_written_alike(case: dict[str, Any]) -> None:
    assert str(parse(case["text"])) == case["string"]


@pytest.mark.parametrize("case", ACCEPTED, ids=name_of)
def test_the_same_objects_are_selected_as_by_kubernetes(case: dict[str, Any]) -> None:
    selector = parse(case["text"])
    assert [index for index, labels in enumerate(GOLDEN["sets"]) if selector.matches(labels)] == case["matches"]


@pytest.mark.parametrize("case", REFUSED, ids=name_of)
def test_what_kubernetes_refuses_is_refused_in_its_words(case: dict[str, Any]) -> None:
    with pytest.raises(SelectorError) as refusal:
        parse(case["text"])
    assert str(refusal.value) == case["error"]


@pytest.mark.parametrize("case", [case for case in ACCEPTED if "object" in case], ids=name_of)
def test_the_object_is_the_one_that_kubernetes_builds(case: dict[str, Any]) -> None:
    assert as_object(parse(case["text"])) == case["object"]


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("a=b", [("a", "=", ("b",))]),
        ("a==b", [("a", "==", ("b",))]),
        ("a!=b", [("a", "!=", ("b",))]),
        ("a in (y,x,y)", [("a", "in", ("x", "y"))]),
        ("a notin (,x)", [("a", "notin", ("", "x"))]),
        ("a", [("a", "exists", ())]),
        ("!a", [("a", "!", ())]),
        ("a>1", [("a", "gt", ("1",))]),
        ("a<1", [("a", "lt", ("1",))]),
        ("b=1,a=2,a=1", [("a", "=", ("2",)), ("a", "=", ("1",)), ("b", "=", ("1",))]),
    ],
    ids=str,
)
def test_requirements_stand_in_order_of_their_keys_with_sorted_values(
    text: str, requirements: list[tuple[str, Operator, tuple[str, ...]]]
) -> None:
    assert parse(text).requirements == tuple(Requirement(*requirement) for requirement in requirements)


def test_the_empty_selector_selects_everything_and_has_no_object() -> None:
    assert parse("") == parse(" \n") == EVERYTHING == Selector()
    assert EVERYTHING.empty
    assert EVERYTHING.matches({})
    assert EVERYTHING.matches({"a": "b"})
    assert as_object(EVERYTHING) is None
    assert not parse("a").empty


@pytest.mark.parametrize("text", ["a!=b", "a notin (b)", "a notin (b,c)", "!a"])
def test_a_negative_requirement_selects_objects_without_the_key(text: str) -> None:
    assert parse(text).matches({})
    assert not parse(text).matches({"a": "b"})


@pytest.mark.parametrize("value", ["", "v2", "1.5", " 2", "2 ", "0x2", "２", "9223372036854775808", "9" * 5000])
def test_a_label_that_is_no_64_bit_integer_is_neither_above_nor_below(value: str) -> None:
    assert not parse("a>1").matches({"a": value})
    assert not parse("a<1").matches({"a": value})


def test_not_equal_is_written_as_the_notin_that_it_means() -> None:
    assert as_object(parse("a!=b,c=d")) == {
        "matchLabels": {"c": "d"},
        "matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}],
    }


@pytest.mark.parametrize(("text", "operator"), [("a>1", "gt"), ("a<1", "lt")])
def test_an_order_has_no_object_and_says_so(text: str, operator: str) -> None:
    with pytest.raises(SelectorError) as refusal:
        as_object(parse(text))
    assert str(refusal.value) == f'"{operator}" isn\'t supported in label selectors'


def test_only_requirements_that_pin_one_value_are_equalities() -> None:
    selector = parse("a=1,b==2,c in (3),d in (4,5),e!=6,f notin (7),g,!h,i>8,j=")
    assert selector.equalities == (("a", "1"), ("b", "2"), ("c", "3"), ("j", ""))


# Labels may also carry "z", which no requirement names.
KEYS: Final = st.sampled_from(["a", "in", "notin", "example.com/a-b_c.d"])
VALUES: Final = st.sampled_from(["", "0", "1", "22", "x", "in", "notin", "A_b.C-9"])
LABELS: Final = st.dictionaries(st.one_of(KEYS, st.just("z")), VALUES)


def sets(smallest: int, largest: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.sets(VALUES, min_size=smallest, max_size=largest).map(lambda values: tuple(sorted(values)))


def requirement_of(operators: list[Operator], values: st.SearchStrategy[tuple[str, ...]]) -> st.SearchStrategy[Any]:
    return st.builds(Requirement, KEYS, st.sampled_from(operators), values)


REQUIREMENTS: Final = st.one_of(
    requirement_of(["=", "==", "!="], sets(1, 1)),
    requirement_of(["in", "notin"], sets(1, 4)),
    requirement_of(["exists", "!"], st.just(())),
    requirement_of(["gt", "lt"], st.sampled_from([("0",), ("1",), ("22",)])),
)
SELECTORS: Final = st.lists(REQUIREMENTS, max_size=6).map(
    lambda found: Selector(tuple(sorted(found, key=lambda requirement: requirement.key)))
)


@given(SELECTORS)
def test_a_selector_is_read_back_as_it_was_written(selector: Selector) -> None:
    assert parse(str(selector)) == selector


@given(SELECTORS, LABELS)
def test_a_selector_selects_what_all_its_requirements_select(selector: Selector, labels: dict[str, str]) -> None:
    assert selector.matches(labels) == all(parse(str(part)).matches(labels) for part in selector.requirements)


@given(KEYS, sets(1, 4), LABELS)
def test_in_is_any_of_its_equalities_and_notin_the_opposite(
    key: str, values: tuple[str, ...], labels: dict[str, str]
) -> None:
    several = ",".join(values)
    one_of_them = any(parse(f"{key}={value}").matches(labels) for value in values)
    assert parse(f"{key} in ({several})").matches(labels) == one_of_them
    assert parse(f"{key} notin ({several})").matches(labels) != one_of_them


@given(SELECTORS, LABELS)
def test_what_is_selected_carries_every_equality(selector: Selector, labels: dict[str, str]) -> None:
    pinned = dict(selector.equalities)
    if selector.matches(labels | pinned):
        assert set(selector.equalities) <= (labels | pinned).items()
    if selector.matches(labels):
        assert set(selector.equalities) <= labels.items()


@given(st.text(alphabet="ab/=!(),<>in not1- \t\n\x00é", max_size=30))
def test_any_text_is_either_refused_or_read_the_same_from_its_own_form(text: str) -> None:
    try:
        selector = parse(text)
    except SelectorError:
        return
    assert parse(str(selector)) == selector
