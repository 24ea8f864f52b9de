"""The texts of the health endpoints."""

import logging

import pytest

from adapter.api.health import Check, Checks, report, single

FINE = Check("feeds", lambda: None)
LATE = Check("pods", lambda: "not listed\nyet")


def broken() -> str | None:
    raise RuntimeError("password=hunter2")


def test_healthy_endpoint_says_ok() -> None:
    assert report("livez", [FINE]) == ("ok", ())


def test_verbose_lists_every_check() -> None:
    assert report("livez", [FINE], verbose=True) == ("[+]feeds ok\nlivez check passed\n", ())


def test_failing_check_is_named_with_its_reason_on_one_line() -> None:
    text, failing = report("readyz", [FINE, LATE])
    assert text == "[+]feeds ok\n[-]pods failed: not listed yet\nreadyz check failed: pods\n"
    assert failing == ("pods",)


def test_excluded_check_cannot_fail() -> None:
    assert report("readyz", [FINE, LATE], frozenset({"pods"})).text == "ok"
    text = report("readyz", [LATE], frozenset({"pods", "nothing"}), verbose=True).text
    assert text == (
        "[+]pods excluded: ok\n"
        "warn: some health checks cannot be excluded: no matches for nothing\n"
        "readyz check passed\n"
    )


def test_single_check_is_answered_alone() -> None:
    assert single(FINE) == ("ok", ())
    assert single(LATE) == ("internal server error: pods failed: not listed yet\n", ("pods",))


def test_broken_probe_fails_without_telling_internals(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        text, failing = report("livez", [Check("feeds", broken)])
    assert failing == ("feeds",)
    assert "hunter2" not in text
    assert [record.getMessage() for record in caplog.records] == ["health_probe_broken"]


@pytest.mark.parametrize(
    ("endpoint", "names"),
    [("livez", ["ping", "feeds"]), ("healthz", ["ping", "feeds"]), ("readyz", ["ping", "pods"])],
)
def test_ready_and_live_have_their_own_checks(endpoint: str, names: list[str]) -> None:
    assert [check.name for check in Checks(live=[FINE], ready=[LATE]).of(endpoint)] == names
