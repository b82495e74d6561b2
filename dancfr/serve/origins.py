"""Which web pages may speak to a server of this machine.

A browser lets every page open a WebSocket to every address, this machine's own ones included, and names the page's site
in the header ``Origin``, which a page cannot change. Programs send no origin, or the address of the server.
"""

import ipaddress
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from aiohttp import web
from pydantic import AnyHttpUrl, TypeAdapter, ValidationError

from dancfr.errors import UsageError, shortened

_URL = TypeAdapter(AnyHttpUrl)

_DEFAULT_PORTS = {"http": 80, "https": 443}


class Site(NamedTuple):
    """The parts of an address that identify a site for a browser. An IPv6 address has brackets."""

    scheme: str
    host: str
    port: int


def _read(text: str) -> tuple[Site, str] | None:
    """The site and the path of an address; None if the text has other parts, or is not an address."""
    try:
        url = _URL.validate_python(text)
    except ValidationError:
        return None
    if url.username or url.password or url.query is not None or url.fragment is not None:
        return None
    return Site(url.scheme, url.host or "", url.port or 0), (url.path or "").rstrip("/")


@dataclass(frozen=True)
class PublicUrl:
    """Where people find a server that is behind a reverse proxy.

    Attributes:
        site: The part that browsers send as the origin of the pages.
        prefix: The path before the server's own paths: ``/geister``, or nothing.
    """

    site: Site
    prefix: str

    def __str__(self) -> str:
        scheme, host, port = self.site
        return f"{scheme}://{host}{'' if port == _DEFAULT_PORTS[scheme] else f':{port}'}{self.prefix}"


def read_public_url(text: str | None) -> PublicUrl | None:
    """Reads the option ``--public-url``.

    Raises:
        UsageError: It is not such an address.
    """
    if text is None:
        return None
    found = _read(text)
    if found is None:
        raise UsageError(
            f"--public-url {shortened(text)} is not the address of a page: write https://HOST or https://HOST/PATH"
        )
    return PublicUrl(*found)


class Origins:
    """Distinguishes the pages of the server from those of other sites.

    Args:
        host: The host of the command: where the server listens.
        public: Where people find the server besides.
        secret: Every request has to contain a token. Without one, a page's host has to be an address, ``localhost`` or
            a name of this machine: any other name may have been made to point here (DNS rebinding).
    """

    def __init__(self, host: str, public: PublicUrl | None = None, secret: bool = False) -> None:
        self._public, self._secret = public, secret
        self._names = {host.lower(), socket.gethostname().lower()}

    def refusal(self, request: web.Request) -> str:
        """Why a request is refused; empty for a program, and for a page of this server."""
        origins = request.headers.getall("Origin", [])
        return next(filter(None, (self.refusal_of(origin, request) for origin in origins)), "")

    def refusal_of(self, origin: str, request: web.Request) -> str:
        """Why a page of this origin is refused, given its request; empty if it is not."""
        site, path = _read(origin) or (None, "")
        public = None if self._public is None else self._public.site
        if site is not None and not path and (site == public or site in self._own(site.scheme, request)):
            return ""
        return (
            f"pages of {shortened(origin)} must not play here: if that is where this server is to be opened, start it "
            "with --public-url and the address of the page"
        )

    def _own(self, scheme: str, request: web.Request) -> Iterator[Site]:
        """The sites that the request is addressed to. Pages can set neither of these headers of a WebSocket."""
        if self._secret and request.transport is not None:  # some proxies write the address to which they pass it on
            port = request.transport.get_extra_info("sockname")[1]
            yield from (Site(scheme, host, port) for host in ("localhost", "127.0.0.1"))
        headers = request.headers
        for value in (*headers.getall("Host", []), *headers.getall("X-Forwarded-Host", [])):
            for host in value.split(","):
                found = _read(f"{scheme}://{host.strip()}")
                if found is not None and (self._secret or self._cannot_be_rebound(found[0].host)):
                    yield found[0]

    def _cannot_be_rebound(self, host: str) -> bool:
        if host in self._names or host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            ipaddress.ip_address(host.strip("[]"))
        except ValueError:
            return False
        return True


__all__ = ["Origins", "PublicUrl", "Site", "read_public_url"]
