"""Settings of the service: address, access and limits."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field

from graphmetric.errors import InvalidArgument

_SIZES = ("max_nodes", "max_edges", "max_body", "max_bodies", "max_connections", "max_drawn")


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The options of ``graphmetric serve``."""

    host: str = "127.0.0.1"
    """The address to listen at; any other than a loopback address needs a token."""
    port: int = 8765
    """Port to listen on; 0 chooses a free one."""
    token: str | None = field(default=None, repr=False)
    """Token that clients must send as ``Authorization: Bearer TOKEN``; None for a service on this machine only."""
    allowed_hosts: tuple[str, ...] = ()
    """Further names under which the service may be called if it has no token. A page on the web could otherwise point a
    name of its own at this machine and read the answers."""
    workers: int = max(1, os.cpu_count() or 1)
    """Certified searches at a time; short requests have a lane of the same size."""
    waiting: int = 32
    """Requests that may wait for a worker; more are refused with 503."""
    time_limit: float = 30.0
    """Maximum seconds of a request, waiting included; a longer ``time_limit`` is shortened to it."""
    max_nodes: int = 256
    """Nodes of a graph in a request."""
    max_edges: int = 2048
    """Edges of a graph in a request."""
    max_body: int = 1 << 20
    """Bytes of a request."""
    max_bodies: int = 1 << 26
    """Bytes of all requests and answers together that are on their way, without the first 16 kB of each request and the
    first 64 kB of each answer; more are refused with 503."""
    max_connections: int = 512
    """Connections at a time; more are closed."""
    max_drawn: int = 150
    """Nodes of a graph that is drawn, or of two that are drawn over each other."""
    body_seconds: float = 10.0
    """Seconds in which a request must have arrived, and in which a client must take each part of the answer."""
    poll_seconds: float = 5.0
    """Seconds between polls for a new edition of the index."""
    log_requests: bool = True
    """Whether to log a line for each request."""

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise InvalidArgument(
                f"host {self.host} can be reached from other machines, so the service needs a token: set "
                "GRAPHMETRIC_TOKEN or --token-file, or listen at 127.0.0.1"
            )
        if self.token is not None and (
            len(self.token) < 16 or not self.token.isascii() or not self.token.isprintable()
        ):
            raise InvalidArgument(
                "the token must have 16 printable ASCII characters or more, such as the output of: openssl rand -hex 24"
            )
        for name in ("workers", "waiting", *_SIZES):
            if getattr(self, name) < (0 if name == "waiting" else 1):
                raise InvalidArgument(f"{name} must be 1 or more; got {getattr(self, name)}")
        if self.max_bodies < self.max_body:
            raise InvalidArgument(f"max_bodies must be at least max_body, {self.max_body}; got {self.max_bodies}")
        for name in ("time_limit", "body_seconds", "poll_seconds"):
            if not 0 < getattr(self, name) < float("inf"):
                raise InvalidArgument(f"{name} must be a number of seconds above 0; got {getattr(self, name)}")


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
