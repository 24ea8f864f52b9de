"""Files that credentials come from are read again when they change, and can hold nobody up."""

import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from adapter.core.errors import SourceError
from adapter.settings.groups import Connection
from adapter.sources.connection import SECRET, Credentials


def test_token_is_read_again_when_its_file_changes(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one\n")
    credentials = Credentials(Connection(bearer_token_file=str(token)))
    assert credentials.headers()["Authorization"] == "Bearer one"
    (tmp_path / "next").write_text("another")
    (tmp_path / "next").replace(token)
    assert credentials.headers()["Authorization"] == "Bearer another"


@pytest.mark.parametrize("kind", ["pipe", "folder", "large", "absent"])
def test_what_is_no_small_file_is_an_error_and_not_a_wait(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "large":
        path.write_bytes(b"x" * (SECRET + 1))
    with pytest.raises(SourceError, match="cannot read"):
        Credentials(Connection(bearer_token_file=str(path))).headers()


def test_encrypted_client_key_is_refused_and_asks_nobody(tmp_path: Path) -> None:
    secret = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"pass"),
    )
    (tmp_path / "key.pem").write_bytes(secret)
    (tmp_path / "cert.pem").write_bytes(secret)
    connection = Connection(cert_file=str(tmp_path / "cert.pem"), key_file=str(tmp_path / "key.pem"))
    with pytest.raises(SourceError, match="TLS files cannot be used"):
        Credentials(connection).tls()


def test_secrets_are_hidden_in_what_others_say(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret")
    credentials = Credentials(Connection(bearer_token_file=str(tmp_path / "token"), headers={"X-Scope-OrgID": "gpu"}))
    assert credentials.hide("who is s3cret of gpu?") == "who is [hidden] of gpu?"
