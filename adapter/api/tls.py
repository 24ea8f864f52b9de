"""The certificate that we serve with: from files, followed when they change, or made at start and never on a disk.

Every handshake looks whether the files have changed, so a renewed Secret is used at once and without a timer. What
cannot be used leaves the last good certificate in place: an adapter that refuses all is worse than an old certificate.
"""

import ipaddress
import logging
import os
import ssl
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from adapter.logs import event

_LOCAL: Final = ("localhost", "127.0.0.1", "::1")
_VALID: Final = timedelta(days=3650)  # longer than any process lives: nothing would renew it
_KEPT: Final = "the last good certificate stays in use; write a certificate with its own key, unencrypted, both PEM"
_log = logging.getLogger(__name__)


class Files(NamedTuple):
    """Paths of PEM files: the certificate with its intermediates, and its key, not encrypted."""

    certificate: str
    key: str


def self_signed(names: Sequence[str], wall: float) -> bytes:
    """A certificate for `names` and this machine, with its key, as PEM. wall: the present, Unix time in seconds."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, (*names, *_LOCAL)[0][:64])])
    now = datetime.fromtimestamp(wall, UTC)
    alternatives = x509.SubjectAlternativeName([_alternative(name) for name in dict.fromkeys((*names, *_LOCAL))])
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # clients' clocks may be behind ours
        .not_valid_after(now + _VALID)
        .add_extension(alternatives, critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding, no_password = serialization.Encoding.PEM, serialization.NoEncryption()
    secret = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, no_password)
    return certificate.public_bytes(encoding) + secret


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def context(pem: bytes) -> ssl.SSLContext:
    """A server's context for a certificate chain and its key. Raises ssl.SSLError or ValueError if they are no good."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.set_alpn_protocols(["http/1.1"])
    with as_file(pem) as path:
        made.load_cert_chain(path, password=_no_password)
    return made


def _no_password() -> str:
    raise ValueError("the key is encrypted; give one that is not")  # OpenSSL would ask the terminal, for ever


def as_file(content: bytes) -> AbstractContextManager[str]:
    """A path that reads as `content`, since the ssl module takes nothing else: in memory where the system has that."""
    return in_memory(content) if hasattr(os, "memfd_create") else on_disk(content)


@contextmanager
def on_disk(content: bytes) -> Iterator[str]:
    with tempfile.NamedTemporaryFile() as file:  # readable by us alone, gone when closed
        file.write(content)
        file.flush()
        yield file.name


@contextmanager
def in_memory(content: bytes) -> Iterator[str]:
    descriptor = os.memfd_create("tls")
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


class Certificates:
    """Serves with what the files hold at each handshake; `context` stays the same object for the listening socket."""

    def __init__(self, files: Files, failed: Callable[[], None]) -> None:
        """failed: called once for each change that is no good. Raises OSError, ssl.SSLError or ValueError now."""
        self._files = files
        self._failed = failed
        self._seen = self._state()
        self._current = self.context = context(self._read())
        self.context.sni_callback = self._handshake

    def _handshake(self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _outer: ssl.SSLContext) -> None:
        self.refresh()
        connection.context = self._current

    def refresh(self) -> None:
        """Takes the files' new content if they changed. Never raises."""
        if (state := self._state()) == self._seen:
            return
        self._seen = state  # taken before reading: what is written meanwhile is a change again
        try:
            self._current = context(self._read())
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            event(_log, logging.ERROR, "certificate_unusable", why=str(error), remedy=_KEPT, **self._files._asdict())
            self._failed()
        else:
            event(_log, logging.INFO, "certificate_reloaded", **self._files._asdict())

    def _state(self) -> tuple[tuple[int, int, int] | None, ...]:
        """What changes when a file does, also when a mounted Secret is swapped by its symlink; None: no such file."""
        return tuple(_stamp(Path(path)) for path in self._files)

    def _read(self) -> bytes:
        return b"\n".join(Path(path).read_bytes() for path in self._files)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino, stat.st_size
