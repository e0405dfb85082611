"""The address of an index in a PostgreSQL database. Messages show it without its password."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from graphmetric.errors import InvalidArgument

_SCHEMES = ("postgresql://", "postgres://")
DEFAULT_SCHEMA, DEFAULT_INDEX = "graphmetric", "index"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_SECRETS = ("password", "sslpassword")
_DEFAULTS = {"connect_timeout": "10", "application_name": "graphmetric", "keepalives_idle": "30"}


@dataclass(frozen=True, repr=False)
class DatabaseAddress:
    """An address such as ``postgresql://user@host/database?index=molecules``.

    ``index`` in the query names one of the indexes of the database, and ``schema`` where in the database they are; the
    rest is read by PostgreSQL's own client, with its environment variables and its file of passwords.
    """

    conninfo: str
    """For the client, with the password."""
    shown: str
    """For people, without it."""
    index: str
    schema: str
    secrets: tuple[str, ...] = field(default=())

    @classmethod
    def parse(cls, url: str) -> DatabaseAddress:
        """Read an address; raises InvalidArgument without repeating it, since it may hold a password."""
        form = "an address of an index has the form postgresql://user@host:port/database?index=NAME"
        try:
            parts = urlsplit(url)
            query = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
            password = parts.password
        except ValueError:
            raise InvalidArgument(f"{form}; what was given cannot be read") from None
        index, schema = query.pop("index", DEFAULT_INDEX), query.pop("schema", DEFAULT_SCHEMA)
        for what, name in (("index", index), ("schema", schema)):
            if not _NAME.fullmatch(name):
                raise InvalidArgument(f"{what} {name!r} must be up to 60 letters, digits and the signs _ . -")
        given = [password or "", unquote(password or ""), *(query.get(name, "") for name in _SECRETS)]
        secrets = tuple(dict.fromkeys(secret for secret in given if secret))
        user, at, host = parts.netloc.rpartition("@")
        place = f"{user.partition(':')[0]}{at}{host}{parts.path}"
        open_query = {name: value for name, value in query.items() if name not in _SECRETS} | {"index": index}
        if schema != DEFAULT_SCHEMA:
            open_query["schema"] = schema
        shown = f"postgresql://{place}?{urlencode(open_query, quote_via=quote, safe='/')}"
        query = _DEFAULTS | query
        conninfo = f"postgresql://{parts.netloc}{parts.path}?{urlencode(query, quote_via=quote)}"
        return cls(conninfo, shown, index, schema, secrets)

    def __repr__(self) -> str:
        return self.shown

    def hide(self, text: str) -> str:
        """A text without the secrets of the address."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def is_address(place: str) -> bool:
    """Return whether a string is the address of a database, not a folder."""
    return place.startswith(_SCHEMES)
