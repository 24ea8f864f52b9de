"""Every byte from outside comes through here: within its deadline, under its cap, from where it was asked.

No redirects (credentials would follow them), no compression (a bomb would), no proxy from the environment. Foreign
exceptions become SourceErrors here and nowhere else. Credentials are read again when their files change, and never
appear in a message.
"""

import asyncio
import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

import aiohttp

from adapter.core.errors import SourceError
from adapter.settings.groups import Connection

KEEP_ALIVE = 120.0  # seconds; above any poll, below a server's idle limit (Prometheus: 5 min)
CHUNK = 64 << 10
SECRET = 1 << 20  # bytes of a credential's or certificate's file
CONNECTIONS_PER_HOST = 8  # Prometheus answers 20 queries at once by default


class Body(NamedTuple):
    """A complete reply. sent, received: our clock in seconds, the sending and the last byte; date: its HTTP Date,
    seconds of Unix time, None without one."""

    status: int
    content: bytes
    content_type: str
    sent: float
    received: float
    date: float | None
    victoria: bool


class WatchedFile:
    """A small file's text, read again when it changes (mounted Secrets are swapped by symlink)."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._seen: tuple[int, int, int] | None = None
        self._text = ""

    def changed(self) -> bool:
        try:
            stat = self._path.stat()
        except OSError as error:
            raise SourceError("connect", f"cannot read {self._path}: {error.strerror}") from None
        if not S_ISREG(stat.st_mode) or stat.st_size > SECRET:  # a pipe would hold up every loop
            raise SourceError("connect", f"cannot read {self._path}: not a file of at most {SECRET} bytes")
        seen = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
        if seen == self._seen:
            return False
        self._seen = seen
        return True

    def text(self) -> str:
        if self.changed():
            try:
                self._text = self._path.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError):
                self._seen = None
                raise SourceError("connect", f"cannot read {self._path}: not a readable text file") from None
        return self._text


class Credentials:
    """What a Connection means for one request: headers and TLS, with the files as they are now."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._bearer = _watch(connection.bearer_token_file)
        self._password = _watch(connection.password_file)
        self._header_files = {name: WatchedFile(path) for name, path in connection.header_files.items()}
        self._tls_files = [WatchedFile(p) for p in (connection.ca_file, connection.cert_file, connection.key_file) if p]
        self._context: ssl.SSLContext | None = None

    def headers(self) -> dict[str, str]:
        """Raises SourceError where a file cannot be read."""
        headers = dict(self._connection.headers)
        headers |= {name: file.text() for name, file in self._header_files.items()}
        if self._bearer:
            headers["Authorization"] = f"Bearer {self._bearer.text()}"
        elif self._connection.username is not None:
            password = self._password.text() if self._password else ""
            headers["Authorization"] = aiohttp.encode_basic_auth(self._connection.username, password, encoding="utf-8")
        return headers

    def hide(self, text: str) -> str:
        """The text without any of the secrets that are sent along."""
        shown = self._connection.headers
        secrets = {value for name, value in self.headers().items() if shown.get(name) != value}
        secrets |= {secret.partition(" ")[2] or secret for secret in secrets}
        if self._password:
            secrets.add(self._password.text())
        for secret in sorted(filter(None, secrets), key=len, reverse=True):
            text = text.replace(secret, "[hidden]")
        return text

    @property
    def server_name(self) -> str | None:
        return self._connection.server_name

    def tls(self) -> ssl.SSLContext:
        """Raises SourceError where a file cannot be used."""
        changed = [file.changed() for file in self._tls_files]
        if self._context is None or any(changed):
            self._context = self._build()
        return self._context

    def _build(self) -> ssl.SSLContext:
        c = self._connection
        try:
            context = ssl.create_default_context(cafile=c.ca_file)
            if c.cert_file:
                context.load_cert_chain(c.cert_file, c.key_file, password=_no_password)
        except (OSError, ssl.SSLError, ValueError) as error:
            raise SourceError("tls", f"the TLS files cannot be used: {_brief(error)}") from None
        if c.insecure_skip_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def _no_password() -> str:
    raise ValueError("the key is encrypted; give one that is not")  # OpenSSL would ask the terminal, for ever


def _watch(path: str | None) -> WatchedFile | None:
    return WatchedFile(path) if path else None


@dataclass(frozen=True, slots=True)
class Request:
    """form: sent as a POST body, or as the query of a GET; None: a plain GET."""

    url: str
    deadline: float
    cap: int
    accept: str = "*/*"
    form: Mapping[str, str] | None = None
    post: bool = False


def session() -> aiohttp.ClientSession:
    """One for all targets of a source; closed by whoever opened it."""
    connector = aiohttp.TCPConnector(limit=0, limit_per_host=CONNECTIONS_PER_HOST, keepalive_timeout=KEEP_ALIVE)
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
    )


async def fetch(
    http: aiohttp.ClientSession, request: Request, credentials: Credentials, clock: Callable[[], float]
) -> Body:
    """One request and its whole reply, whatever its status.

    Raises SourceError: connect, timeout, tls, redirect, too_large, malformed.
    """
    if http.closed:
        raise SourceError("connect", "is not asked any more: shutting down")
    headers = {"Accept": request.accept, "Accept-Encoding": "identity", **credentials.headers()}
    secure = credentials.tls() if request.url.startswith("https:") else True
    sent = clock()
    try:
        async with asyncio.timeout(request.deadline):
            async with http.request(
                "POST" if request.post else "GET",
                request.url,
                headers=headers,
                params=None if request.post else request.form,
                data=request.form if request.post else None,
                ssl=secure,
                server_hostname=credentials.server_name if request.url.startswith("https:") else None,
                allow_redirects=False,
            ) as reply:
                content = await _content(reply, request.cap)
                return _body(reply, content, sent, clock())
    except TimeoutError:
        raise SourceError("timeout", f"no complete answer within {request.deadline:g} s") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise _mapped(error) from None


async def _content(reply: aiohttp.ClientResponse, cap: int) -> bytes:
    if 300 <= reply.status < 400:
        raise SourceError("redirect", f"answered {reply.status}: redirects are not followed; give the final URL")
    if reply.headers.get("Content-Encoding", "identity") not in ("identity", ""):
        raise SourceError("malformed", "answered compressed although asked not to")
    if reply.content_length is not None and reply.content_length > cap:
        raise SourceError("too_large", f"its answer has {reply.content_length} bytes, the cap is {cap}")
    content = bytearray()
    async for chunk in reply.content.iter_chunked(CHUNK):
        content += chunk
        if len(content) > cap:
            raise SourceError("too_large", f"its answer is larger than the cap of {cap} bytes")
    return bytes(content)


def _body(reply: aiohttp.ClientResponse, content: bytes, sent: float, received: float) -> Body:
    try:
        date = parsedate_to_datetime(reply.headers["Date"]).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        date = None
    victoria = "X-Server-Hostname" in reply.headers
    return Body(reply.status, content, reply.content_type, sent, received, date, victoria)


def _mapped(error: Exception) -> SourceError:
    if isinstance(error, aiohttp.ClientSSLError | aiohttp.ClientConnectorCertificateError | ssl.SSLError):
        return SourceError("tls", f"TLS failed: {_brief(error)}")
    if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ClientResponseError):
        return SourceError("malformed", f"broke off or answered no HTTP: {type(error).__name__}")
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return SourceError("connect", "closed the connection without an answer")
    return SourceError("connect", f"cannot be reached: {_brief(error)}")


def _brief(error: Exception) -> str:
    """The system's word for it, without addresses or paths that a person has in front of them anyway."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    number = getattr(cause, "errno", None)
    if isinstance(number, int) and number > 0 and not isinstance(cause, ssl.SSLError):
        return os.strerror(number).lower()
    text = getattr(cause, "strerror", None) or getattr(cause, "reason", None) or type(cause).__name__
    return str(text)[:200]
