"""Addresses and tokens as a program writes them."""

from __future__ import annotations

import ipaddress
import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass

from .errors import NestError
from .wire import limits

_TOKEN = re.compile(r"\s*nest_([1-9][0-9]{0,15})_([0-9a-fA-F]{64})\s*")
_ADDRESS = re.compile(r"(?:(nests?)://)?(\[[0-9a-fA-F:.]+\]|[^\s\[\]:/@]+)(?::([0-9]{1,5}))?/?")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int
    is_secure: bool

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'nests' if self.is_secure else 'nest'}://{host}:{self.port}"


def read_address(text: str) -> Address:
    """`host:port`, `nest://host:port` or, with TLS, `nests://host:port`; the port may be left out: 7000."""
    found = _ADDRESS.fullmatch(text.strip())
    port = int(found[3] or 7000) if found else 0
    if not found or not 0 < port < 65536:
        raise NestError("INVALID", f"'{text}' is no address: write host:port, nest://host:port or nests://host:port")
    return Address(found[2].strip("[]"), port, found[1] == "nests")


def read_addresses(given: str | Sequence[str]) -> tuple[Address, ...]:
    """The nodes of a cluster: several addresses, or a text of them with commas between. All have TLS, or none."""
    texts = given.split(",") if isinstance(given, str) else list(given)
    if not 0 < len(texts) <= limits.SERVER_ADDRESSES_MAX:
        raise NestError("INVALID", f"give 1 to {limits.SERVER_ADDRESSES_MAX} addresses, not {len(texts)}")
    addresses = tuple(read_address(text) for text in texts)
    if len({one.is_secure for one in addresses}) > 1:
        raise NestError("INVALID", "use nests:// for all addresses, or for none")
    return addresses


def read_token(text: str) -> tuple[int, bytes]:
    """A token as `nestc token create` prints it. The message of an error does not contain it."""
    found = _TOKEN.fullmatch(text)
    if not found or int(found[1]) > 2**53 - 1:
        raise NestError("INVALID", "the token does not have the form nest_NUMBER_SECRET")
    return int(found[1]), bytes.fromhex(found[2])


def check_clear(address: Address) -> None:
    """Raises UNTRUSTED if others could read a token that is sent to this address."""
    if address.is_secure or address.host == "localhost":
        return
    try:
        if ipaddress.ip_address(address.host).is_loopback:
            return
    except ValueError:
        pass
    text = f"the token is not sent to {address} without TLS, where others could read it: use nests://"
    raise NestError("UNTRUSTED", text)


def tls_context(given: ssl.SSLContext | None) -> ssl.SSLContext:
    """TLS 1.3 with the protocol nest/1, as protocol.md asks (section 19)."""
    context = given or ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["nest/1"])
    return context
