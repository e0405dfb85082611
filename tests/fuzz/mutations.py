"""Ways to damage a file, from flipped bits to bombs."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

from graphmetric.formats.binary import CHECKSUM, MAGIC, PREFIX, checksum

LARGEST = 1 << 20
"""Bytes; what grows beyond is cut, so that a run of many inputs stays quick."""

_LISTED_NUMBERS = (
    b"-1 0 1 2 255 65536 9999999 2147483648 1000000000 9223372036854775808 1e999 -1e999 1e308 NaN nan Infinity -0 0.5 "
    b"1_0 0x10 "
    b'true null "" [] {} [[1]]'
)
_NUMBERS = [*_LISTED_NUMBERS.split(), b"1" + b"0" * 30, b"9" * 5000]
_WORDS = (
    b"\0 \xff\xfe \xef\xbb\xbf \xc3\x28 \\ud800 < > & &amp; &x; &#0; &#x110000; ' \" \\ { } [ ] , : -- % # <!-- "
    b"<![CDATA[ ]]> <graph> </graph> <node/> <default>x</default> <edge/> </node> </edge> <key/>"
)
_LINES = (b"t # -1\n", b"t # 5\n", b"v 0 C\n", b"e 0 1\n", b"<node id='0'/>", b'<edge source="0" target="0"/>')
_PAIRS = (b'"num_nodes": 1000000000,', b'"id": [[[]]],', b"<data key='d0'>")
_SNIPPETS = [*_WORDS.split(), *_LINES, *_PAIRS, b" ", b"\t", b"\r", b"\r\n\r\n"]
_BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;">]>'
)
_EXTERNAL = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>'

Mutation = Callable[[Random, bytes], bytes]


def flip_bits(random: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def set_bytes(random: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 2, 4))):
        if changed:
            changed[random.randrange(len(changed))] = random.choice((0, 1, 32, 127, 128, 255, random.randrange(256)))
    return bytes(changed)


def truncate(random: Random, data: bytes) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def delete_piece(random: Random, data: bytes) -> bytes:
    start = random.randrange(len(data) + 1)
    return data[:start] + data[start + random.choice((1, 4, 32, 256)) :]


def repeat_piece(random: Random, data: bytes) -> bytes:
    start = random.randrange(len(data) + 1)
    piece = data[start : start + random.choice((1, 8, 64, 512))]
    return data[:start] + piece * random.choice((2, 3, 50, 2000)) + data[start:]


def insert_snippet(random: Random, data: bytes) -> bytes:
    start = random.randrange(len(data) + 1)
    return data[:start] + random.choice(_SNIPPETS) + data[start:]


def replace_number(random: Random, data: bytes) -> bytes:
    places = [match.span() for match in re.finditer(rb"-?[0-9]+(\.[0-9]+)?", data[:20_000])]
    if not places:
        return insert_snippet(random, data)
    start, end = random.choice(places)
    return data[:start] + random.choice(_NUMBERS) + data[end:]


def replace_word(random: Random, data: bytes) -> bytes:
    places = [match.span() for match in re.finditer(rb"[A-Za-z_]+", data[:20_000])]
    if len(places) < 2:
        return insert_snippet(random, data)
    (start, end), (first, last) = random.choice(places), random.choice(places)
    return data[:start] + data[first:last] + data[end:]


def shuffle_lines(random: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    a, b = random.randrange(len(lines)), random.randrange(len(lines))
    action = random.randrange(4)
    if action == 0:
        lines.insert(a, lines[b])
    elif action == 1:
        del lines[a]
    elif action == 2:
        lines[a], lines[b] = lines[b], lines[a]
    else:
        lines[a] = lines[a] * random.choice((2, 100))
    return b"\n".join(lines)


def change_encoding(random: Random, data: bytes) -> bytes:
    text = data.decode("latin-1")
    action = random.randrange(6)
    if action == 0:
        return text.encode("utf-16")
    if action == 1:
        return text.encode("utf-32-le")
    if action == 2:
        return b"\xef\xbb\xbf" + data
    if action == 3:
        return data.replace(b"\n", b"\r\n")
    if action == 4:
        return re.sub(rb"utf-8", random.choice((b"utf-7", b"utf-16", b"ebcdic", b"klingon")), data, flags=re.I)
    return text.encode("utf-8")


def nest(random: Random, data: bytes) -> bytes:
    depth = random.choice((10, 1000, 100_000))
    opening, closing = random.choice(
        ((b"[", b"]"), (b'{"a":', b"}"), (b"<a>", b"</a>"), (b"(", b")"), (b'{"tuple":[', b"]}"))
    )
    start = random.randrange(len(data) + 1)
    return data[:start] + opening * depth + closing * random.choice((0, depth)) + data[start:]


def explode_xml(random: Random, data: bytes) -> bytes:
    body = re.sub(rb"^<\?xml[^>]*\?>", b"", data)
    entity = random.choice((b"&e;", b"&f;", b"&a;"))
    start = body.find(b">", random.randrange(len(body) + 1)) + 1
    return random.choice((_BOMB, _EXTERNAL)) + body[:start] + entity + body[start:]


def compress(random: Random, data: bytes) -> bytes:
    zipped = gzip.compress(data, compresslevel=1)
    return random.choice((zipped, zipped + zipped, truncate(random, zipped), flip_bits(random, zipped), zipped + b"x"))


def reseal(random: Random, data: bytes) -> bytes:
    """Damage a block of our own format and make its sizes and checksum right again."""
    blocks = list(_blocks(data))
    if not blocks:
        return flip_bits(random, data)
    k = random.randrange(len(blocks))
    kind, header, payload = blocks[k]
    if random.random() < 0.5 or not payload:
        header = random.choice((_change_header, replace_number, set_bytes, nest))(random, header)
    else:
        payload = random.choice((flip_bits, set_bytes, truncate))(random, payload)
    blocks[k] = kind, header, payload
    return MAGIC + b"".join(_sealed(*block) for block in blocks)


def _change_header(random: Random, header: bytes) -> bytes:
    """Damage what a header says rather than its spelling."""
    try:
        content = json.loads(header)
        column = random.choice(content["columns"])
        k = random.randrange(len(column[2]))
        column[2][k] = random.choice((0, 1, column[2][k] - 1, column[2][k] * 2, 2**40, -1))
        return json.dumps(content).encode()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return change_json(random, header)


def change_json(random: Random, data: bytes) -> bytes:
    """Damage one value somewhere in a JSON document, or in one line of JSON lines."""
    lines = data.split(b"\n") if data.count(b"\n{") else [data]
    k = random.randrange(len(lines))
    try:
        content = [json.loads(lines[k])]
        place: Any = content
        while isinstance(place, dict | list) and place:
            key = random.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if not isinstance(place[key], dict | list) or random.random() < 0.2:
                break
            place = place[key]
        _change_entry(random, place)
        lines[k] = json.dumps(content[0]).encode()
    except (ValueError, LookupError, TypeError, RecursionError):
        return replace_number(random, data)
    return b"\n".join(lines)


def _change_entry(random: Random, place: Any) -> None:
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    key = random.choice(keys)
    action = random.randrange(3)
    if action == 0:
        del place[key]
    elif action == 1:
        place[key] = place[random.choice(keys)]
    else:
        place[key] = random.choice(
            (None, True, -1, 0, 2**31, 2**70, 0.5, 1e308, "", "x", [], [0, 1], {}, {"tuple": [1]})
        )


def _blocks(data: bytes) -> list[tuple[bytes, bytes, bytes]]:
    found, place = [], len(MAGIC)
    while data.startswith(MAGIC) and place + PREFIX.size <= len(data):
        kind, header_size, payload_size = PREFIX.unpack_from(data, place)
        start = place + PREFIX.size
        if header_size + payload_size > len(data):
            break
        found.append(
            (kind, data[start : start + header_size], data[start + header_size : start + header_size + payload_size])
        )
        place = start + header_size + payload_size + CHECKSUM.size
    return found


def _sealed(kind: bytes, header: bytes, payload: bytes) -> bytes:
    content = PREFIX.pack(kind, len(header), len(payload)) + header + payload
    return content + CHECKSUM.pack(checksum([content]))


_ANY = [flip_bits, set_bytes, delete_piece, repeat_piece, insert_snippet, replace_word, shuffle_lines, replace_number]
_RARE = [truncate, change_encoding, nest, compress]
_OF_FORMAT: dict[str, list[Mutation]] = {
    "graphmetric": [reseal] * 24,
    "json": [change_json] * 12,
    "jsonl": [change_json] * 12,
    **{name: [explode_xml] for name in ("gexf", "graphml", "gxl", "cxl")},
}


def mutated(random: Random, format: str, data: bytes) -> bytes:
    """Damage a file in one to four ways."""
    choices = [*_ANY, *_ANY, *_RARE, *_OF_FORMAT.get(format, [])]
    for _ in range(random.choice((1, 1, 1, 2, 3, 4))):
        data = random.choice(choices)(random, data)[:LARGEST]
    return data


def gzip_bomb(random: Random) -> bytes:
    """A few hundred kilobytes that want to become hundreds of megabytes."""
    piece = random.choice((b"\0", b" ", b"[", b"\n", b"v 0 C\n", b"1, 2\n")) * (1 << 16)
    return gzip.compress(piece, compresslevel=9) * (random.choice((300, 600)) * (1 << 20) // len(piece))
