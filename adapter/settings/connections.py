"""How servers are spoken to, as configured: addresses without secrets, secrets in files."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from adapter.core.document import Item, Section
from adapter.settings.groups import Connection

_SECRETS: Final = ("authorization", "cookie", "api-key", "apikey", "token", "secret", "password")  # in a header's name
_OURS: Final = frozenset(
    ("accept", "accept-encoding", "connection", "content-length", "content-type", "expect", "host", "te",
     "transfer-encoding", "upgrade")
)  # fmt: skip
_HEADER_NAME: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


def url(item: Item, *, page: bool = False) -> str:
    """An http(s) URL without credentials or query; what is wrong with it becomes a fault that does not repeat it.

    page: it names a page, so a server alone is not enough.
    """
    text = item.text(None)
    if text is None:
        return ""
    try:
        parts = urlsplit(text)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        item.fault("is not a URL")
        return text
    blank = any(c.isspace() for c in text)
    if blank or parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine:
        item.fault(
            f"must be a URL such as {'http://10.0.0.11:9400/metrics' if page else 'http://prometheus.monitoring.svc:9090'}"
        )
    elif parts.username is not None or parts.password is not None:
        item.fault("must not hold credentials: put them into files (basicAuth.passwordFile, bearerTokenFile)")
    elif parts.query or parts.fragment:
        item.fault("must not hold a query or a fragment")
    elif page and parts.path in ("", "/"):
        item.fault("names a server but no page: add the path, as in http://10.0.0.11:9400/metrics")
    return text


def connection(section: Section) -> Connection:
    """The keys bearerTokenFile, basicAuth, tls, headers and headerFiles of a section."""
    bearer = _text(section, "bearerTokenFile")
    username, password = _basic(section)
    headers, files = _headers(section, "headers"), _headers(section, "headerFiles")
    if sum((bearer is not None, username is not None, "authorization" in map(str.lower, files))) > 1:
        section.fault("can hold one Authorization: give bearerTokenFile, basicAuth or a file for the header")
    for twice in {name.lower() for name in headers} & {name.lower() for name in files}:
        section.fault(f"gives the header {twice} both as it is and from a file")
    tls = section.section("tls")
    cert, key = _text(tls, "certFile"), _text(tls, "keyFile")
    if (cert is None) != (key is None):
        tls.fault("certFile and keyFile belong together: give both or none")
    insecure = tls.get("insecureSkipVerify")
    made = Connection(
        bearer_token_file=bearer,
        username=username,
        password_file=password,
        ca_file=_text(tls, "caFile"),
        cert_file=cert,
        key_file=key,
        server_name=_text(tls, "serverName"),
        insecure_skip_verify=insecure.flag(default=False) if insecure else False,
        headers=headers,
        header_files=files,
    )
    tls.close()
    return made


def _basic(section: Section) -> tuple[str | None, str | None]:
    """User name and password file."""
    if section.get("basicAuth") is None:
        return None, None
    basic = section.section("basicAuth")
    username, password = _text(basic, "username"), _text(basic, "passwordFile")
    if username is None:
        basic.fault("needs a username")
    elif ":" in username:
        basic.fault("cannot hold a username with a colon (RFC 7617)")
    basic.close()
    return username, password


def _text(section: Section, key: str) -> str | None:
    item = section.get(key)
    return item.text(None) if item else None


def _headers(section: Section, key: str) -> Mapping[str, str]:
    named = section.section(key)
    headers: dict[str, str] = {}
    for name in named.keys():  # noqa: SIM118 - a Section is no mapping
        item = named.get(name)
        if item is None:
            continue
        if not name or not set(name) <= _HEADER_NAME:
            item.fault("is no name of a header")
        elif name.lower() in _OURS:
            item.fault("is a header that the adapter sets itself: leave it out")
        elif key == "headers" and any(word in name.lower() for word in _SECRETS):
            item.fault("holds a secret: put it into a file, under headerFiles or as bearerTokenFile")
        else:
            headers[name] = item.text("")
    return MappingProxyType(headers)
