"""How servers are spoken to, as configured: addresses without secrets, secrets in files."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from adapter.core.document import Item, Section
from adapter.settings.groups import Connection

_SECRET_HEADERS: Final = ("authorization", "cookie", "proxy-authorization", "x-api-key")
_HEADER_NAME: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


def url(item: Item) -> str:
    """An http(s) URL without credentials or query; what is wrong with it becomes a fault that does not repeat it."""
    text = item.text("")
    try:
        parts = urlsplit(text)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        item.fault("is not a URL")
        return text
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine:
        item.fault("must be a URL such as http://prometheus.monitoring.svc:9090")
    elif parts.username is not None or parts.password is not None:
        item.fault("must not hold credentials: put them into files (basicAuth.passwordFile, bearerTokenFile)")
    elif parts.query or parts.fragment:
        item.fault("must not hold a query or a fragment")
    return text


def connection(section: Section) -> Connection:
    """The keys bearerTokenFile, basicAuth, tls, headers and headerFiles of a section."""
    basic, tls = section.section("basicAuth"), section.section("tls")
    username, password = _text(basic, "username"), _text(basic, "passwordFile")
    if password is not None and username is None:
        basic.fault("needs a username")
    bearer = _text(section, "bearerTokenFile")
    if bearer is not None and username is not None:
        section.fault("has both bearerTokenFile and basicAuth: one Authorization header can hold one of them")
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
        headers=_headers(section, "headers"),
        header_files=_headers(section, "headerFiles"),
    )
    basic.close()
    tls.close()
    return made


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
        elif key == "headers" and name.lower() in _SECRET_HEADERS:
            item.fault("holds a secret: put it into a file, under headerFiles or as bearerTokenFile")
        else:
            headers[name] = item.text("")
            if any(ord(c) < 32 or ord(c) == 127 for c in headers[name]):
                item.fault("must be one line")
    return MappingProxyType(headers)
