"""Certificates of a federation: an authority of its own, one for the server and one for each client."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from neuro_divergent.core.errors import InputError, StorageError
from neuro_divergent.federated.client_name import check_name
from neuro_divergent.federated.transport.https.dependencies import require_installed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, ExtendedKeyUsage, GeneralName, Name

AUTHORITY, CERTIFICATE, KEY = "authority.pem", "certificate.pem", "key.pem"
_AUTHORITY_KEY = "authority-key.pem"
_ORGANISATION = "Neuro-Divergent federation"


class Authority:
    """Issues the certificates of one federation.

    Its key stays in its directory: whoever has it can let clients in.

    Args:
        directory: Where the authority is; it is made if it is not there.
    """

    def __init__(self, directory: Path) -> None:
        require_installed()
        self._directory = directory
        if not (directory / _AUTHORITY_KEY).exists():
            self._create()
        self._certificate, self._key = _load(directory / AUTHORITY, directory / _AUTHORITY_KEY)

    def issue_server(self, directory: Path, hosts: Sequence[str], *, days: float = 825) -> None:
        """Write the certificate of the server.

        Args:
            directory: Where certificate, key and the certificate of the authority are written.
            hosts: Names and addresses by which clients reach it.
            days: How long it is valid.
        """
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID

        if not hosts:
            raise InputError("hosts: name at least one by which clients reach the server.")
        names = [_general_name(host) for host in hosts]
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        self._issue(directory, "server", usage, names, days)

    def issue_client(self, directory: Path, name: str, *, days: float = 825) -> None:
        """Write the certificate of a client, which has its name in it.

        Args:
            directory: Where certificate, key and the certificate of the authority are written.
            name: Name of the client.
            days: How long it is valid.
        """
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID

        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        self._issue(directory, check_name(name), usage, [x509.DNSName(f"{name.lower()}.client.invalid")], days)

    def _create(self) -> None:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        usage = x509.KeyUsage(
            digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
            key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        certificate = (
            x509.CertificateBuilder()
            .subject_name(_subject("authority"))
            .issuer_name(_subject("authority"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=3650))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        _write(self._directory, certificate, key, AUTHORITY, _AUTHORITY_KEY)

    def _issue(
        self, directory: Path, name: str, usage: ExtendedKeyUsage, names: Sequence[GeneralName], days: float
    ) -> None:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        certificate = (
            x509.CertificateBuilder()
            .subject_name(_subject(name))
            .issuer_name(self._certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(identifier, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        _write(directory, certificate, key, CERTIFICATE, KEY)
        _write_new(directory / AUTHORITY, self._certificate.public_bytes(serialization.Encoding.PEM), 0o644)


def _subject(name: str) -> Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, _ORGANISATION),
            x509.NameAttribute(NameOID.COMMON_NAME, name),
        ]
    )


def _general_name(host: str) -> GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _load(certificate: Path, key: Path) -> tuple[Certificate, EllipticCurvePrivateKey]:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        found = load_pem_private_key(key.read_bytes(), password=None)
        assert isinstance(found, EllipticCurvePrivateKey)
        return x509.load_pem_x509_certificate(certificate.read_bytes()), found
    except (OSError, ValueError, AssertionError) as error:
        raise InputError(f"{key.parent}: is not the authority of a federation ({error}).") from None


def _write(
    directory: Path, certificate: Certificate, key: EllipticCurvePrivateKey, certificate_name: str, key_name: str
) -> None:
    from cryptography.hazmat.primitives import serialization

    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{directory}: cannot be written: {error.strerror or error}.") from error
    if (directory / key_name).exists():
        raise InputError(f"{directory / key_name}: exists already; remove it to issue another.")
    _write_new(directory / key_name, private, 0o600)
    _write_new(directory / certificate_name, certificate.public_bytes(serialization.Encoding.PEM), 0o644)


def _write_new(path: Path, content: bytes, mode: int) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}.") from error
