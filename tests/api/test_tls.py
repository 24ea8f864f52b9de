"""The certificate that is served, seen by a client through a handshake in memory."""

import ssl
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from adapter.api.tls import Certificates, Files, as_file, context, on_disk, self_signed

WALL = datetime(2026, 5, 28, tzinfo=UTC).timestamp()
SERVICE = "fresh-metrics-adapter.monitoring.svc"


def shake(server: ssl.SSLContext, client: ssl.SSLContext, name: str | None) -> ssl.SSLObject:
    """The client's side of a finished handshake."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    theirs = client.wrap_bio(to_client, to_server, server_hostname=name)
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (theirs, ours):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return theirs


def anyone(alpn: Sequence[str] = ()) -> ssl.SSLContext:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    if alpn:
        client.set_alpn_protocols(alpn)
    return client


def served(server: ssl.SSLContext, name: str | None = None) -> int | None:
    """The serial number of the certificate that a client is shown."""
    shown = shake(server, anyone(), name).getpeercert(binary_form=True)
    return x509.load_der_x509_certificate(shown).serial_number if shown else None


def serial(pem: bytes) -> int:
    return x509.load_pem_x509_certificate(pem).serial_number


class Mounted:
    """A mounted Secret: files below `..data`, a link that is swapped at each renewal."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._version = 0
        for name in ("tls.crt", "tls.key"):
            (root / name).symlink_to(Path("..data") / name)
        self.files = Files(str(root / "tls.crt"), str(root / "tls.key"))

    def renew(self, certificate: bytes, key: bytes) -> None:
        self._version += 1
        version = self._root / f"..{self._version}"
        version.mkdir()
        (version / "tls.crt").write_bytes(certificate)
        (version / "tls.key").write_bytes(key)
        (self._root / "..new").symlink_to(version.name)
        (self._root / "..new").replace(self._root / "..data")


def halves(pem: bytes) -> tuple[bytes, bytes]:
    at = pem.index(b"-----BEGIN PRIVATE")
    return pem[:at], pem[at:]


class Failures:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


@pytest.mark.parametrize("name", [SERVICE, "localhost", "127.0.0.1", "::1"])
def test_self_signed_certificate_is_good_for_the_service_and_this_machine(name: str) -> None:
    pem = self_signed([SERVICE], datetime.now(UTC).timestamp())
    client = ssl.create_default_context(cadata=pem.decode())
    assert shake(context(pem), client, name).getpeercert()


def test_self_signed_certificate_is_for_no_other_name() -> None:
    pem = self_signed([SERVICE], datetime.now(UTC).timestamp())
    client = ssl.create_default_context(cadata=pem.decode())
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(context(pem), client, "elsewhere.svc")


def test_self_signed_certificate_is_p256_valid_now_and_signs_no_others() -> None:
    certificate = x509.load_pem_x509_certificate(self_signed([], WALL))
    key = certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert isinstance(key.curve, ec.SECP256R1)
    assert certificate.not_valid_before_utc.timestamp() < WALL < certificate.not_valid_after_utc.timestamp()
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_only_http_1_1_is_agreed_on() -> None:
    server = context(self_signed([], WALL))
    assert shake(server, anyone(["h2", "http/1.1"]), None).selected_alpn_protocol() == "http/1.1"


def test_old_tls_is_not_spoken() -> None:
    assert context(self_signed([], WALL)).minimum_version is ssl.TLSVersion.TLSv1_2


def test_encrypted_key_is_refused_instead_of_asking_for_its_password() -> None:
    certificate, key = halves(self_signed([], WALL))
    loaded = serialization.load_pem_private_key(key, None)
    encrypted = loaded.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
    )
    with pytest.raises(ValueError, match="encrypted"):
        context(certificate + encrypted)


def test_key_leaves_no_file_behind() -> None:
    with as_file(b"secret") as path:
        assert Path(path).read_bytes() == b"secret"
        assert path.startswith("/proc/self/fd/")
    assert not Path(path).exists()


def test_key_on_a_disk_is_ours_alone_and_removed_at_once() -> None:
    with on_disk(b"secret") as path:
        assert Path(path).read_bytes() == b"secret"
        assert Path(path).stat().st_mode & 0o077 == 0
    assert not Path(path).exists()


def test_renewed_secret_is_served_at_the_next_handshake(tmp_path: Path) -> None:
    mounted, failures = Mounted(tmp_path), Failures()
    first, second = self_signed([], WALL), self_signed([], WALL)
    mounted.renew(*halves(first))
    certificates = Certificates(mounted.files, failures)
    assert served(certificates.context) == serial(first)
    mounted.renew(*halves(second))
    assert served(certificates.context, SERVICE) == serial(second)
    assert served(certificates.context) == serial(second)
    assert failures.count == 0


def broken_file(root: Mounted, good: bytes) -> None:
    root.renew(b"not a certificate", halves(good)[1])


def foreign_key(root: Mounted, good: bytes) -> None:
    root.renew(halves(good)[0], halves(self_signed([], WALL))[1])


def no_file(root: Mounted, good: bytes) -> None:
    root.renew(*halves(good))
    Path(root.files.certificate).resolve().unlink()


@pytest.mark.parametrize("fault", [broken_file, foreign_key, no_file], ids=lambda fault: fault.__name__)
def test_broken_renewal_keeps_the_old_certificate_and_is_told_once(
    fault: Callable[[Mounted, bytes], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mounted, failures = Mounted(tmp_path), Failures()
    first, second = self_signed([], WALL), self_signed([], WALL)
    mounted.renew(*halves(first))
    certificates = Certificates(mounted.files, failures)
    fault(mounted, second)
    assert [served(certificates.context) for _ in range(3)] == [serial(first)] * 3
    assert failures.count == 1
    assert [record.getMessage() for record in caplog.records] == ["certificate_unusable"]
    mounted.renew(*halves(second))
    assert served(certificates.context) == serial(second)


def test_unusable_files_are_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Certificates(Files(str(tmp_path / "tls.crt"), str(tmp_path / "tls.key")), Failures())
