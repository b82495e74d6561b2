"""Chooses the Ray of a program: the one that its caller names, the one that RAY_ADDRESS names, or a new one."""

import ipaddress
import os
import socket
from dataclasses import dataclass

VARIABLE = "RAY_ADDRESS"


class RayUnavailable(RuntimeError):
    """Ray is not installed, did not start, or does not answer at the address. The message is one line."""


class WrongAddress(RayUnavailable):
    """The address is of a kind that cannot carry a training run."""


@dataclass(frozen=True)
class Choice:
    """A Ray, and the reason for using it.

    Attributes:
        address: ``auto`` or ``host:port`` of a running Ray; None means a new one on this machine.
        by_variable: Whether the variable RAY_ADDRESS has chosen it.
    """

    address: str | None
    by_variable: bool = False

    @property
    def reason(self) -> str:
        """The reason for using this Ray, as the end of a line of the log; empty for the default."""
        if self.by_variable and self.address is None:
            return f": {VARIABLE}=local"
        if self.by_variable:
            return f", which {VARIABLE} names; {VARIABLE}=local starts Ray on this machine instead"
        return ", found on this machine (--address auto)" if self.address == "auto" else ""

    @property
    def cure(self) -> str:
        """The cure for an unintended address, as the end of a message; empty if the caller has named the Ray."""
        if not self.by_variable:
            return ""
        return f"; {VARIABLE} names it: unset it, or set {VARIABLE}=local, to start Ray on this machine"

    def check(self) -> None:
        """Checks within seconds that Ray can be joined. The address ``auto`` is left to Ray.

        Raises:
            WrongAddress: The address is of a kind that cannot carry a training run.
            RayUnavailable: No Ray answers there.
        """
        if self.address is None or self.address == "auto":
            return
        if self.address.startswith("ray://"):
            raise WrongAddress(
                f"{self.address}: Ray Client cannot carry a training run; start it with `dancfr submit`, "
                f"`ray job submit` or on a node of the cluster with --address auto{self.cure}"
            )
        try:
            check_server(self.address)
        except RayUnavailable as error:
            raise type(error)(f"{error}{self.cure}") from error


def choose(address: str | None) -> Choice:
    """The Ray of an address, by Ray's own rules: RAY_ADDRESS counts in place of none and of ``auto``, and ``local`` is
    a new Ray on this machine."""
    named = os.environ.get(VARIABLE)
    by_variable = bool(named) and address in (None, "", "auto")
    chosen = (named if by_variable else address) or "local"
    return Choice(None if chosen == "local" else chosen, by_variable)


def check_server(address: str, seconds: float = 5.0) -> None:
    """Checks that a gRPC server, which Ray's control service is, answers at ``host:port``.

    `ray.init` itself would try for more than three minutes, for instance at the port of the dashboard.

    Raises:
        WrongAddress: The address is not ``host:port``.
        RayUnavailable: Nothing or another program answers.
    """
    try:
        host, _, port = address.rpartition(":")
        if not host or "/" in host:
            raise ValueError
        socket.create_connection((host.strip("[]"), int(port)), timeout=seconds).close()
    except (ValueError, OverflowError):
        raise WrongAddress(f"the address of Ray must be local, auto or host:port, got {address!r}") from None
    except OSError as error:
        raise RayUnavailable(f"nothing answers at {address} ({error.strerror or error})") from error
    if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
        return
    try:
        import grpc  # a dependency of Ray
    except ImportError:
        return
    by_proxy = os.environ.get("RAY_grpc_enable_http_proxy", "0").lower() in ("1", "true")  # noqa: SIM112 (Ray's name)
    with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", int(by_proxy))]) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=seconds)
        except grpc.FutureTimeoutError:
            raise RayUnavailable(f"the program that answers at {address} is not Ray's control service") from None


def is_nearby(host: str) -> bool:
    """Whether all addresses of a host are those of this machine or of private networks, which no proxy serves.

    False for a name that cannot be resolved here; a proxy may know it.
    """
    try:
        found = {str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return False
    return all(not ipaddress.ip_address(address).is_global for address in found)


def without_proxy(host: str) -> dict[str, str]:
    """Environment variables with which HTTP clients ask a nearby host itself, whatever proxy the environment names."""
    if not is_nearby(host):
        return {}
    named = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
    return dict.fromkeys(("no_proxy", "NO_PROXY"), ",".join(filter(None, [named, host])))
