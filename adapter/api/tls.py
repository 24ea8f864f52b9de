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
from contextlib import contextmanager
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
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # clients' clocks may be behind ours
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectAlternativeName([_alternative(n) for n in dict.fromkeys((*names, *_LOCAL))]), False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)  # so that a caBundle can hold it
        .add_extension(identifier, False)
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


@contextmanager
def as_file(content: bytes) -> Iterator[str]:
    """A path that reads as `content`, since the ssl module takes nothing else: in memory where the system has that."""
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile() as file:  # readable by us alone, gone when closed
            file.write(content)
            file.flush()
            yield file.name
        return
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
        """failed: called once for each change that cannot be used. Raises OSError, ssl.SSLError or ValueError at once."""
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
        try:
            if (state := self._state()) == self._seen:
                return
            self._seen = state
            self._current = context(self._read())
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            self._complain(error)
        else:
            event(_log, logging.INFO, "certificate_reloaded", file=self._files.certificate)
