#!/usr/bin/env python3
"""A second reader of stores, written from docs/format.md alone: no liblmdb, no code of the library.

    second_reader.py STORE                prints what the store holds, as JSON
    second_reader.py --expect FILE STORE  says whether that is what FILE holds

STORE is a store's directory, or a .tar.gz of one.
It is slow and it trusts nothing: every length is checked before it is used, every checksum is
verified, and the journal is laid over the chunks as section 14 says. Exit status: 0 fine, 1 damaged
or not as expected, 2 wrong usage. Section numbers are those of docs/format.md.
"""

import json
import math
import os
import struct
import sys
import tarfile
import uuid

PAGE = 4096
M32 = (1 << 32) - 1
M64 = (1 << 64) - 1


class Damaged(Exception):
    """The store is not as the document says."""


def need(condition, what):
    if not condition:
        raise Damaged(what)


# --- XXH3-64 of xxHash 0.8 -------------------------------------------------------------------------

P32 = (0, 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
P64 = (0, 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
       0x27D4EB2F165667C5)
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


def u16(data, at):
    return int.from_bytes(data[at:at + 2], "little")


def u32(data, at):
    return int.from_bytes(data[at:at + 4], "little")


def u64(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def i64(data, at):
    return int.from_bytes(data[at:at + 8], "little", signed=True)


def swap(value, n):
    return int.from_bytes(value.to_bytes(n, "little"), "big")


def rotate(x, n):
    return (x << n | x >> (64 - n)) & M64


def fold(a, b):
    product = (a & M64) * (b & M64)
    return (product ^ product >> 64) & M64


def avalanche(h):
    h ^= h >> 37
    h = h * 0x165667919E3779F9 & M64
    return h ^ h >> 32


def avalanche_short(h):
    h ^= h >> 33
    h = h * P64[2] & M64
    h ^= h >> 29
    h = h * P64[3] & M64
    return h ^ h >> 32


def hash_to_16(data, seed):
    n, s = len(data), SECRET
    if n == 0:
        return avalanche_short(seed ^ u64(s, 56) ^ u64(s, 64))
    if n < 4:
        combined = data[0] << 16 | data[n >> 1] << 24 | data[n - 1] | n << 8
        return avalanche_short(combined ^ (u32(s, 0) ^ u32(s, 4)) + seed & M64)
    if n <= 8:
        seed ^= swap(seed & M32, 4) << 32
        h = u32(data, n - 4) + (u32(data, 0) << 32) ^ (u64(s, 8) ^ u64(s, 16)) - seed & M64
        h ^= rotate(h, 49) ^ rotate(h, 24)
        h = h * 0x9FB21C651E98DF25 & M64
        h ^= (h >> 35) + n
        h = h * 0x9FB21C651E98DF25 & M64
        return h ^ h >> 28
    low = u64(data, 0) ^ (u64(s, 24) ^ u64(s, 32)) + seed & M64
    high = u64(data, n - 8) ^ (u64(s, 40) ^ u64(s, 48)) - seed & M64
    return avalanche(n + swap(low, 8) + high + fold(low, high) & M64)


def mix(data, at, secret_at, seed):
    return fold(u64(data, at) ^ u64(SECRET, secret_at) + seed & M64,
                u64(data, at + 8) ^ u64(SECRET, secret_at + 8) - seed & M64)


def hash_to_240(data, seed):
    n = len(data)
    h = n * P64[1]
    if n <= 128:
        for i in range((n - 1) // 32 + 1):
            h += mix(data, 16 * i, 32 * i, seed) + mix(data, n - 16 * (i + 1), 32 * i + 16, seed)
        return avalanche(h & M64)
    for i in range(8):
        h += mix(data, 16 * i, 16 * i, seed)
    h = avalanche(h & M64)
    for i in range(8, n // 16):
        h += mix(data, 16 * i, 16 * (i - 8) + 3, seed)
    return avalanche(h + mix(data, n - 16, 136 - 17, seed) & M64)


def accumulate(acc, data, at, secret, secret_at):
    values = struct.unpack_from("<8Q", data, at)
    keys = struct.unpack_from("<8Q", secret, secret_at)
    for i in range(8):
        key = values[i] ^ keys[i]
        acc[i ^ 1] += values[i]
        acc[i] = acc[i] + (key & M32) * (key >> 32)
    for i in range(8):
        acc[i] &= M64


def hash_long(data, seed):
    secret = b"".join(((u64(SECRET, at) + (seed if at % 16 == 0 else -seed)) & M64)
                      .to_bytes(8, "little") for at in range(0, 192, 8))
    acc = [P32[3], P64[1], P64[2], P64[3], P64[4], P32[2], P64[5], P32[1]]
    n = len(data)
    for stripe in range((n - 1) // 64):
        accumulate(acc, data, stripe * 64, secret, stripe % 16 * 8)
        if stripe % 16 == 15:
            for i in range(8):
                a = acc[i]
                acc[i] = (a ^ a >> 47 ^ u64(secret, 128 + 8 * i)) * P32[1] & M64
    accumulate(acc, data, n - 64, secret, 192 - 64 - 7)
    h = n * P64[1]
    for i in range(4):
        h += fold(acc[2 * i] ^ u64(secret, 11 + 16 * i), acc[2 * i + 1] ^ u64(secret, 19 + 16 * i))
    return avalanche(h & M64)


def xxh3(data, seed=0):
    if len(data) <= 16:
        return hash_to_16(data, seed)
    if len(data) <= 240:
        return hash_to_240(data, seed)
    return hash_long(data, seed)


# --- LMDB's pages (section 4) ----------------------------------------------------------------------

BRANCH, LEAF, OVERFLOW, META = 1, 2, 4, 8


class DataFile:
    """The main tree of one file, as pairs of key and value in key order."""

    def __init__(self, data):
        self.data = data
        metas = [meta for meta in map(self.read_meta, (0, 1)) if meta]
        need(metas, "no sound meta page")
        self.last_page, self.depth, self.root = max(metas, key=lambda meta: meta[0])[1:]
        self.seen = set()

    def page(self, number, kind):
        at = number * PAGE
        need(at + PAGE <= len(self.data), f"page {number} is behind the end of the file")
        need(u64(self.data, at) == number, f"page {number} says it is another")
        need(u16(self.data, at + 10) == kind, f"page {number} is not of kind {kind}")
        return self.data[at:at + PAGE]

    def read_meta(self, number):
        try:
            page = self.page(number, META)
        except Damaged:
            return None
        if u32(page, 16) != 0xBEEFC0DE or u32(page, 20) != 1 or u32(page, 40) != PAGE:
            return None
        need(u16(page, 88 + 4) == 0, "the main tree has flags")
        # Equal transaction numbers: page 0, which max() meets first.
        return u64(page, 144), u64(page, 136), u16(page, 88 + 6), u64(page, 88 + 40)

    def take_page(self, number, kind):
        need(1 < number <= self.last_page, f"page {number} is out of range")
        need(number not in self.seen, f"page {number} is used twice")
        self.seen.add(number)
        return self.page(number, kind)

    def nodes(self, page):
        """Fields of each node, its key, and where its data begins."""
        lower, upper = u16(page, 12), u16(page, 14)
        need(16 <= lower <= upper <= PAGE and lower % 2 == 0, "offset table")
        for at in struct.unpack_from(f"<{(lower - 16) // 2}H", page, 16):
            need(upper <= at <= PAGE - 8, "place of a node")
            low, high, flags, key_bytes = struct.unpack_from("<4H", page, at)
            need(at + 8 + key_bytes <= PAGE, "key of a node")
            yield low | high << 16, flags, page[at + 8:at + 8 + key_bytes], at + 8 + key_bytes

    def overflow(self, number, n):
        n_pages = (15 + n) // PAGE + 1
        first = self.take_page(number, OVERFLOW)
        need(u32(first, 12) == n_pages, "number of overflow pages")
        need(number + n_pages - 1 <= self.last_page, "overflow pages")
        for other in range(number + 1, number + n_pages):
            need(other not in self.seen, f"page {other} is used twice")
            self.seen.add(other)
        value = self.data[number * PAGE + 16:number * PAGE + 16 + n]
        need(len(value) == n, "overflow pages behind the end of the file")
        return value

    def walk(self, number, depth, low, high):
        """Records of the subtree, whose keys are in [low, high); None: no bound."""
        kind = LEAF if depth == 1 else BRANCH
        page = self.take_page(number, kind)
        nodes = list(self.nodes(page))
        if kind == BRANCH:
            keys = [low] + [key for _, _, key, _ in nodes[1:]] + [high]
            for i, (child, flags, _, _) in enumerate(nodes):
                yield from self.walk(child | flags << 32, depth - 1, keys[i], keys[i + 1])
            return
        for n, flags, key, at in nodes:
            need(low is None or key >= low, "a key below its page")
            need(high is None or key < high, "a key above its page")
            need(flags in (0, 1), "flags of a node")
            if flags == 0:
                need(at + n <= PAGE, "value of a node")
                yield key, page[at:at + n], None
            else:
                need(at + 8 <= PAGE, "value of a node")
                first = u64(page, at)
                yield key, self.overflow(first, n), first

    def records(self):
        if self.root == M64:
            return
        before = None
        for key, value, page in self.walk(self.root, self.depth, None, None):
            need(before is None or key > before, "keys out of order")
            before = key
            yield key, value, page


# --- Records (sections 5 to 10, 13) ----------------------------------------------------------------

(SUPERBLOCK, IDENTITY, BOOK, ARRAY, SEGMENT, TENSOR, CHUNK, SESSIONS, BLOCK,
 OPERATIONS) = range(1, 11)
KEY_BYTES = {SUPERBLOCK: 1, IDENTITY: 1, BOOK: 1, ARRAY: 4, SEGMENT: 8, TENSOR: 5, CHUNK: 21,
             SESSIONS: 5, BLOCK: 9, OPERATIONS: 5}
HOME = {"graph.mdb": {SUPERBLOCK, BOOK, ARRAY, SEGMENT},
        "tensors.mdb": {SUPERBLOCK, TENSOR, CHUNK, SESSIONS, OPERATIONS},
        "journal.mdb": {SUPERBLOCK, IDENTITY, BLOCK}}
DTYPES = {1: ("bool", 1), 2: ("int8", 1), 3: ("int16", 2), 4: ("int32", 4), 5: ("int64", 8),
          6: ("uint8", 1), 7: ("float16", 2), 8: ("bfloat16", 2), 9: ("float32", 4),
          10: ("float64", 8)}
MIB = 1 << 20


class Record:
    def __init__(self, key, value, page):
        need(len(value) >= 48, "a value shorter than its header")
        need(value[:4] == b"DGR1", "magic of a record")
        self.kind, self.version = u16(value, 4), u16(value, 6)
        self.key, self.value, self.page = key, value, page
        self.n, self.log, self.checksum, self.count = (u64(value, at) for at in (8, 16, 24, 32))
        need(self.kind == key[0], "kind of a record")
        need(self.version == 1 or self.version == 2 and self.kind == TENSOR, "version of a record")
        need(48 + self.n <= len(value), "payload of a record")
        need(u64(value, 40) == 0, "reserved bytes of a record")
        self.payload = value[48:48 + self.n]

    def seed(self, store):
        return xxh3(store + self.key + self.value[:24] + self.value[32:48])

    def verify(self, store):
        need(xxh3(self.payload, self.seed(store)) == self.checksum,
             f"checksum of the record with key {self.key.hex()}")

    def needs_pages(self, pages):
        need(self.page is not None and len(self.value) == pages * PAGE - 16,
             f"pages of the record with key {self.key.hex()}")


def key_field(key, at, n):
    return int.from_bytes(key[at:at + n], "big")


class Cursor:
    def __init__(self, data, what):
        self.data, self.at, self.what = data, 0, what

    def take(self, n):
        need(self.at + n <= len(self.data), f"{self.what}: cut short")
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, n, signed=False):
        return int.from_bytes(self.take(n), "little", signed=signed)

    def string(self):
        text = self.take(self.number(2)).decode("utf-8")
        need("\0" not in text, f"{self.what}: a NUL in a name")
        return text


def read_superblock(payload):
    need(len(payload) >= 72, "superblock: short")
    s = {"store": payload[:16], "cluster": payload[16:32], "part": u32(payload, 32),
         "n_parts": u32(payload, 36)}
    format_read, format_write = u16(payload, 40), u16(payload, 42)
    need(any(s["store"]), "superblock: no UUID")
    need(s["part"] < s["n_parts"] <= 4096, "superblock: part")
    need(1 <= format_read <= format_write, "superblock: formats")
    need(format_read == 1 and u64(payload, 64) & ~1 == 0,  # 1: outside ids
         "a newer format than this reader knows")
    return s


def read_book(payload, n_parts):
    c = Cursor(payload, "book")
    need(c.take(4) == b"DGBK" and c.number(2) == 1, "book: magic or format")
    n_ntypes, n_etypes, reserved, parts = c.number(2), c.number(2), c.number(2), c.number(4)
    need(reserved == 0 and parts == n_parts and n_ntypes <= 4096, "book: header")
    ntypes = [c.string() for _ in range(n_ntypes)]
    etypes = [(c.number(2), c.number(2), c.string()) for _ in range(n_etypes)]
    need(all(src < n_ntypes and dst < n_ntypes for src, dst, _ in etypes), "book: types")
    counts = [[[c.number(8, True) for _ in range(parts)] for _ in range(n)]
              for n in (n_ntypes, n_etypes)]
    need(c.at == len(payload), "book: bytes behind its end")
    need(all(n >= 0 for table in counts for row in table for n in row), "book: counts")
    return {"node_types": [{"name": name, "nodes": n} for name, n in zip(ntypes, counts[0])],
            "edge_types": [{"source": ntypes[src], "relation": name, "destination": ntypes[dst],
                            "edges": n} for (src, dst, name), n in zip(etypes, counts[1])]}


def read_making(c, t):
    """How a tensor was made, and whether it was dropped."""
    state, lifetime, reserved = c.number(1), c.number(1), c.number(6)
    made = {"uuid": str(uuid.UUID(bytes=c.take(16))), "lifetime": lifetime, "seed": c.number(8)}
    value = c.take(8)
    made["owner"] = c.string()
    need(state <= 1 and lifetime <= 1 and reserved == 0, "tensor: state, lifetime or reserved")
    n = DTYPES.get(t["dtype"], ("", 0))[1]
    need(not any(value[n:]), "tensor: initial value")
    made["value"] = value[:n].hex()
    need(bool(made["owner"]) == (lifetime == 1), "tensor: owner")
    need(lifetime == 0 or t["name"].endswith("_" + made["owner"]), "tensor: name of an owner's")
    t["dropped"], t["made"] = state == 1, made


def read_tensor(payload, tensor_id, version):
    c = Cursor(payload, f"tensor {tensor_id}")
    need(c.number(1) == 1, "tensor: format")
    t = {"side": c.number(1), "type": c.number(2), "numbering": c.number(1), "dtype": c.number(1),
         "durability": c.number(1)}
    rank = c.number(1)
    t |= {"id": c.number(4), "interval_ms": c.number(4), "flags": c.number(4), "pages": c.number(4),
          "chunk_rows": c.number(4), "group": c.number(4), "n_rows": c.number(8, True)}
    need(rank <= 8, "tensor: rank")
    t["shape"] = [c.number(8, True) for _ in range(rank)]
    t["name"] = c.string()
    t["dropped"], t["made"] = False, None
    if version == 2:
        read_making(c, t)
    need(c.at == len(payload), "tensor: bytes behind its end")
    need(t["id"] == tensor_id > 0 and t["dtype"] in DTYPES and t["n_rows"] >= 0, "tensor: fields")
    need(t["side"] <= 1 and t["numbering"] <= 1 and t["durability"] <= 2, "tensor: fields")
    need(all(extent >= 1 for extent in t["shape"]) and 1 <= t["pages"] <= 256, "tensor: shape")
    t["row_bytes"] = DTYPES[t["dtype"]][1] * math.prod(t["shape"])
    need(1 <= t["chunk_rows"] <= (t["pages"] * PAGE - 64) // t["row_bytes"], "tensor: chunk rows")
    need(t["group"] <= tensor_id, "tensor: row group")
    return t


def read_marks(data):
    need(len(data) % 32 == 0, "session table: length")
    marks = {}
    for at in range(0, len(data), 32):
        session = data[at:at + 16]
        need(any(session) and u64(data, at + 16) > 0, "session table: empty mark")
        need(session not in marks, "session table: a session twice")
        marks[session] = (u64(data, at + 16), u64(data, at + 24))
    need(list(marks) == sorted(marks), "session table: order")
    return marks


# --- What a push does (section 12) -----------------------------------------------------------------


def to_float(x, code):
    """The number nearest to x of struct's kind `code`, ties to even; too large: infinity."""
    try:
        return struct.unpack("<" + code, struct.pack("<" + code, x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def float16_bits(x):
    try:
        return struct.unpack("<H", struct.pack("<e", x))[0]
    except OverflowError:
        return 0xFC00 if x < 0 else 0x7C00


def bfloat16_bits(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    if x != x:
        return bits >> 16 | 0x40
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16


def arithmetic(op, a, b):
    if op == 2:
        return a + b
    if op == 5:
        return a * b
    if a != a or b != b:
        return math.nan
    if op == 3:
        return a if a < b else b
    return a if a > b else b


def element(op, dtype, old, operand):
    """One element, as bytes, from two as bytes."""
    name, n = DTYPES[dtype]
    if op == 1:
        return operand
    if name == "bool":
        a, b = any(old), any(operand)
        return bytes([a or b if op in (2, 4) else a and b])
    if "int" in name:
        signed = name != "uint8"
        a = int.from_bytes(old, "little", signed=signed)
        b = int.from_bytes(operand, "little", signed=signed)
        return (arithmetic(op, a, b) & (1 << 8 * n) - 1).to_bytes(n, "little")
    if name == "bfloat16":
        a, b = (struct.unpack("<f", b"\0\0" + x)[0] for x in (old, operand))
        return bfloat16_bits(to_float(arithmetic(op, a, b), "f")).to_bytes(2, "little")
    code = {"float16": "e", "float32": "f", "float64": "d"}[name]
    a, b = (struct.unpack("<" + code, x)[0] for x in (old, operand))
    # Sums and products of float32 numbers, rounded to float64 and then to float32, are as if
    # rounded once: 53 >= 2 * 24 + 2 bits.
    result = arithmetic(op, a, b)
    if code == "e":
        return float16_bits(to_float(result, "f")).to_bytes(2, "little")
    return struct.pack("<" + code, to_float(result, code))


def apply(op, dtype, row, operand):
    n = DTYPES[dtype][1]
    return b"".join(element(op, dtype, row[at:at + n], operand[at:at + n])
                    for at in range(0, len(row), n))


# --- The journal (section 11) ----------------------------------------------------------------------


def read_part(data):
    return {"operation": (data[:16], u64(data, 16)), "first": i64(data, 24), "total": u64(data, 32),
            "done": u64(data, 40)}


def check_part(e):
    part, n = e["part"], len(changes(e))
    need(any(part["operation"][0]) and part["first"] >= 0, "part: operation or first row")
    need(n <= part["done"] <= part["total"], "part: rows done")
    need(e["kind"] == 1 or e["first"] == part["first"] + part["done"] - n, "part: its first row")


def read_operations(data):
    """Section 13: the table of operations."""
    at, operations = 0, {}
    while at < len(data):
        need(at + 64 <= len(data), "operations: cut short")
        o = read_part(data[at:at + 48])
        o |= {"tensor": u32(data, at + 48), "row_bytes": u32(data, at + 52),
              "kind": u16(data, at + 56), "op": u16(data, at + 58)}
        need(u32(data, at + 60) == 0 and o["kind"] in (1, 2) and 1 <= o["op"] <= 5, "operations: kind")
        need(1 <= o["done"] < o["total"] and o["operation"] not in operations, "operations: done")
        n = o["row_bytes"] if o["kind"] == 2 else 0
        need(at + 64 + n <= len(data), "operations: cut short")
        o["operand"] = data[at + 64:at + 64 + n]
        operations[o.pop("operation")] = o
        at += 64 + (n + 7 & ~7)
    return operations


def read_entries(stream):
    """Entries of a stream that begins with one and ends with one."""
    at, last = 0, None
    while at < len(stream):
        need(at + 80 <= len(stream), "journal: its last entry is cut short")
        e = {"kind": u16(stream, at + 4), "op": u16(stream, at + 6), "log": u64(stream, at + 16),
             "tensor": u32(stream, at + 24), "row_bytes": u32(stream, at + 28),
             "session": stream[at + 40:at + 56], "mark": (u64(stream, at + 56), u64(stream, at + 64))}
        n = u64(stream, at + 32)
        kind = e["kind"]
        if kind in (4, 5):
            e["kind"] -= 3
        numbers = 16 if e["kind"] == 2 else 8 * n
        parameters = u32(stream, at + 72)
        body = numbers + n * e["row_bytes"] + parameters
        length = 80 + body + 7 & ~7
        need(stream[at:at + 4] == b"DGJ1", "entry: magic")
        need(e["kind"] in (1, 2), "entry: a step, of which there are no rules yet, or unknown")
        need(1 <= e["op"] <= 5 and parameters == (48 if kind > 3 else 0),
             "entry: operation or parameters")
        need(e["kind"] == 1 or n == 1, "entry: operands of a fill")
        need(body <= 64 * MIB and u64(stream, at + 8) == length, "entry: length")
        need(at + length <= len(stream), "journal: its last entry is cut short")
        need(1 <= e["log"] < 1 << 63 and last in (None, e["log"] - 1), "entry: log number")
        need(e["mark"][0] > 0 or not any(e["session"]), "entry: push 0 of a session")
        numbers_at, operands_at = at + 80, at + 80 + numbers
        if e["kind"] == 2:
            e["first"], e["count"] = i64(stream, numbers_at), i64(stream, numbers_at + 8)
            e["operands"] = [stream[operands_at:operands_at + e["row_bytes"]]]
        else:
            e["rows"] = [i64(stream, numbers_at + 8 * i) for i in range(n)]
            e["operands"] = [stream[operands_at + i * e["row_bytes"]:][:e["row_bytes"]]
                             for i in range(n)]
        if kind > 3:
            e["part"] = read_part(stream[operands_at + n * e["row_bytes"]:][:48])
            check_part(e)
        yield e
        at, last = at + length, e["log"]


def changes(entry):
    if entry["kind"] == 1:
        return list(zip(entry["rows"], entry["operands"]))
    first, count = entry["first"], entry["count"]
    need(first >= 0 and count >= 0, "entry: run of a fill")
    return [(row, entry["operands"][0]) for row in range(first, first + count)]


# --- A store ---------------------------------------------------------------------------------------


FILES = ("graph.mdb", "tensors.mdb", "journal.mdb", "mark")


def read_files(path):
    files = {}
    if os.path.isdir(path):
        for name in FILES:
            with open(os.path.join(path, name), "rb") as f:
                files[name] = f.read()
        return files
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile():
                files[os.path.basename(member.name)] = archive.extractfile(member).read()
    need(all(name in files for name in FILES), "a file is missing")
    return files


OUTSIDE = 65535  # in place of an edge type: arrays of outside ids


def mix_integer(number):
    """Section 8a: the hash of an integer."""
    x = (number + 0x9e3779b97f4a7c15) % 2**64
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 % 2**64
    x = (x ^ x >> 27) * 0x94d049bb133111eb % 2**64
    return x ^ x >> 31


class Store:
    def __init__(self, path):
        self.files = read_files(path)
        self.uuid = None
        self.tensors, self.arrays, self.marks = {}, {}, {}
        self.dropped = []
        self.operations_bytes, self.n_operations_pieces = b"", 0
        self.marks_log, self.n_pieces = 0, 0
        self.log = self.newest_entry = 0
        self.stream, self.blocks = b"", []
        self.book = self.incarnation = self.superblock = None
        for name in FILES[:3]:
            try:
                self.read_file(name)
            except Damaged as e:
                raise Damaged(f"{name}: {e}") from None
        need(self.book is not None, "no book")
        need(self.incarnation is not None, "no identity")
        need(self.n_pieces > 0, "no session table")
        self.finish()
        self.replay()
        self.read_mark()

    def read_file(self, name):
        superblock = None
        for key, value, page in DataFile(self.files[name]).records():
            need(key, "an empty key")
            record = Record(key, value, page)
            if record.kind >= 128:
                continue
            need(record.kind in HOME[name], f"a record of kind {record.kind}")
            need(len(key) == KEY_BYTES[record.kind], "length of a key")
            if superblock is None:
                need(record.kind == SUPERBLOCK, "the first record is no superblock")
                record.verify(bytes(16))
                superblock = read_superblock(record.payload)
                if self.superblock is None:
                    self.superblock, self.uuid = superblock, superblock["store"]
                need(superblock == self.superblock, "of another store or part")
                continue
            if record.kind != SEGMENT:
                record.verify(self.uuid)
            self.add(record)

    def add(self, r):
        {IDENTITY: self.add_identity, BOOK: self.add_book, ARRAY: self.add_array,
         SEGMENT: self.add_segment, TENSOR: self.add_tensor, CHUNK: self.add_chunk,
         SESSIONS: self.add_sessions, BLOCK: self.add_block, OPERATIONS: self.add_operations}[r.kind](r)
        if r.kind in HOME["tensors.mdb"]:
            self.log = max(self.log, r.log)

    def add_identity(self, r):
        need(r.n >= 8, "identity: short")
        self.incarnation = u64(r.payload, 0)

    def add_book(self, r):
        self.book = read_book(r.payload, self.superblock["n_parts"])

    def add_array(self, r):
        need(r.n >= 24, "array: short")
        dtype, n, segment = u32(r.payload, 0), u64(r.payload, 8), u64(r.payload, 16)
        need(dtype in (4, 5) and segment >= 1 and segment * DTYPES[dtype][1] <= 256 * MIB, "array")
        self.arrays[key_field(r.key, 1, 2), r.key[3]] = {
            "dtype": dtype, "n": n, "segment": segment, "next": 0, "data": b""}

    def add_segment(self, r):
        array = self.arrays.get((key_field(r.key, 1, 2), r.key[3]))
        need(array is not None, "a segment without its array")
        n_bytes = DTYPES[array["dtype"]][1]
        done = array["next"] * array["segment"]
        need(key_field(r.key, 4, 4) == array["next"] and done < array["n"], "order of segments")
        count = min(array["segment"], array["n"] - done)
        need(r.count == count and r.n == count * n_bytes, "elements of a segment")
        sums_at = 48 + r.n + 7 & ~7
        n_sums = -(-r.n // MIB)
        r.needs_pages((16 + sums_at + 8 * n_sums + PAGE - 1) // PAGE)
        sums = r.value[sums_at:sums_at + 8 * n_sums]
        seed = r.seed(self.uuid)
        need(xxh3(sums, seed) == r.checksum, "checksum of a segment's sums")
        for i in range(n_sums):
            need(xxh3(r.payload[i * MIB:(i + 1) * MIB], seed + i & M64) == u64(sums, 8 * i),
                 "checksum of a piece of a segment")
        array["data"] += r.payload
        array["next"] += 1

    def add_tensor(self, r):
        t = read_tensor(r.payload, key_field(r.key, 1, 4), r.version)
        t["rows"], t["images"] = [], []
        if t["dropped"]:
            self.dropped.append(t["id"])
            return
        if t["made"]:
            value = bytes.fromhex(t["made"]["value"])
            t["rows"] = [value * (t["row_bytes"] // len(value))] * t["n_rows"]
            t["images"] = [None] * -(-t["n_rows"] // t["chunk_rows"])
        self.tensors[t["id"]] = t

    def add_chunk(self, r):
        if key_field(r.key, 1, 4) in self.dropped:
            return
        t = self.tensors.get(key_field(r.key, 1, 4))
        need(t is not None, "a chunk without its tensor")
        chunk = key_field(r.key, 5, 8)
        if not t["made"]:
            need(chunk == len(t["images"]), f"tensor {t['name']}: chunks")
            t["images"].append(None)
        need(chunk < len(t["images"]) and t["images"][chunk] is None, f"tensor {t['name']}: chunks")
        first = chunk * t["chunk_rows"]
        count = min(t["chunk_rows"], t["n_rows"] - first)
        need(count > 0, f"tensor {t['name']}: more chunks than rows")
        need(r.count == count and r.n == count * t["row_bytes"], "rows of a chunk")
        need(r.log == key_field(r.key, 13, 8), "log number of a chunk")
        r.needs_pages(t["pages"])
        n = t["row_bytes"]
        t["rows"][first:first + count] = [r.payload[i * n:(i + 1) * n] for i in range(count)]
        t["images"][chunk] = r.log

    def add_sessions(self, r):
        need(key_field(r.key, 1, 4) == self.n_pieces, "pieces of the session table")
        need(self.n_pieces == 0 or r.log == self.marks_log, "log number of the session table")
        marks = read_marks(r.payload)
        need(not marks or not self.marks or max(self.marks) < min(marks), "session table: order")
        self.marks |= marks
        self.marks_log = r.log
        self.n_pieces += 1

    def add_operations(self, r):
        need(key_field(r.key, 1, 4) == self.n_operations_pieces and r.n, "pieces of the operations")
        need(r.log == self.marks_log, "log number of the operations")
        self.operations_bytes += r.payload
        self.n_operations_pieces += 1

    def add_block(self, r):
        number = key_field(r.key, 1, 8)
        need(not self.blocks or number == self.blocks[-1] + 1, "numbers of blocks")
        r.needs_pages((len(r.value) + 16) // PAGE)
        need((len(r.value) + 16) // PAGE <= 256 and r.count <= r.n, "size of a block")
        self.stream += r.payload if self.stream else r.payload[r.count:]
        self.blocks.append(number)

    def finish(self):
        for t in self.tensors.values():
            need(len(t["rows"]) == t["n_rows"], f"tensor {t['name']}: a chunk is missing")
        for array in self.arrays.values():
            need(len(array["data"]) == array["n"] * DTYPES[array["dtype"]][1], "a segment is missing")
        self.check_groups()
        self.outside = self.read_outside()
        self.newest = self.log

    def read_outside(self):
        """Section 8a: what the nodes of each type were called, and the part's share of the index."""
        arrays = {kind: self.elements(a) for (etype, kind), a in self.arrays.items()
                  if etype == OUTSIDE}
        if not arrays:
            return None
        need(sorted(arrays) == [1, 2, 3, 4, 5], "outside ids: arrays")
        head, values, words, hashes, ids = (arrays[kind] for kind in (1, 2, 3, 4, 5))
        text = b"".join(word.to_bytes(8, "little", signed=True) for word in words)
        types = self.book["node_types"]
        need(len(head) == 5 * len(types) and len(hashes) == len(ids), "outside ids: lengths")
        parts = self.superblock["n_parts"]
        out = []
        for t, node_type in enumerate(types):
            form, seed, at, index, n = head[5 * t:5 * t + 5]
            if form == 0:
                out.append(None)
                continue
            owned = node_type["nodes"][self.superblock["part"]]
            mine = values[at:at + owned + (form == 2)]
            need(form in (1, 2) and len(mine) == owned + (form == 2), "outside ids: values")
            if form == 2:
                mine = [text[a:b].decode() for a, b in zip(mine, mine[1:])]
            share = [(h % 2**64, i) for h, i in zip(hashes[index:index + n], ids[index:index + n])]
            need(len(share) == n, "outside ids: index")
            need(all(a[0] < b[0] for a, b in zip(share, share[1:])), "outside ids: order of hashes")
            need(all(h * parts >> 64 == self.superblock["part"] for h, _ in share),
                 "outside ids: a hash of another part")
            need(all(0 <= i < sum(node_type["nodes"]) for _, i in share), "outside ids: an id")
            first = sum(node_type["nodes"][:self.superblock["part"]])
            index_of = dict(share)
            for i, called in enumerate(mine):
                h = mix_integer(called) if form == 1 else xxh3(called.encode(), seed % 2**64)
                need(h * parts >> 64 != self.superblock["part"] or index_of.get(h) == first + i,
                     f"outside ids: '{called}' is not in the index")
            out.append({"called": mine, "index": [[f"{h:016x}", i] for h, i in share]})
        return out

    def check_groups(self):
        """Section 10: tensors of a row group go together."""
        alike = ("group", "side", "type", "numbering", "durability", "n_rows", "chunk_rows")
        for t in self.tensors.values():
            first = self.tensors.get(t["group"])
            need(t["group"] == 0 or first and all(first[field] == t[field] for field in alike),
                 f"tensor {t['name']}: row group")

    def replay(self):
        """Section 14."""
        self.operations = read_operations(self.operations_bytes)
        self.entries = []  # those that are not in the images and the session table entirely
        for e in read_entries(self.stream):
            need(e["log"] <= max(self.marks_log, self.newest_entry) + 1, "tensors.mdb is too old")
            self.newest_entry = e["log"]
            if e["tensor"] in self.dropped:
                self.note_mark(e)
                self.newest = max(self.newest, e["log"])
                continue
            t = self.tensors.get(e["tensor"])
            need(t is not None, f"entry {e['log']}: no tensor {e['tensor']}")
            need(e["row_bytes"] == t["row_bytes"], f"entry {e['log']}: bytes of a row")
            e["changed"] = 0
            for row, operand in changes(e):
                need(0 <= row < t["n_rows"], f"entry {e['log']}: row {row}")
                if (t["images"][row // t["chunk_rows"]] or 0) < e["log"]:
                    t["rows"][row] = apply(e["op"], t["dtype"], t["rows"][row], operand)
                    e["changed"] += 1
            self.note_mark(e)
            self.note_part(e, t)
            if e["changed"] or self.marks_log < e["log"]:
                self.entries.append(e)
            self.newest = max(self.newest, e["log"])

    def note_mark(self, e):
        if any(e["session"]) and self.marks_log < e["log"]:
            self.marks[e["session"]] = e["mark"]

    def note_part(self, e, t):
        if "part" not in e or self.marks_log >= e["log"]:
            return
        o = dict(e["part"])
        operation = o.pop("operation")
        self.operations.pop(operation, None)
        if o["done"] < o["total"]:
            self.operations[operation] = o | {
                "tensor": t["id"], "row_bytes": t["row_bytes"], "kind": e["kind"], "op": e["op"],
                "operand": e["operands"][0] if e["kind"] == 2 else b""}

    def dump_operations(self):
        living = {i: o for i, o in self.operations.items() if o["tensor"] not in self.dropped}
        need(all(o["tensor"] in self.tensors for o in living.values()), "operations: no such tensor")
        return [{"id": str(uuid.UUID(bytes=i)), "number": number, **o, "operand": o["operand"].hex()}
                for (i, number), o in sorted(living.items())]

    def read_mark(self):
        """Section 15."""
        slots = [self.files["mark"][at:at + 512] for at in (0, 512)]
        sound = [s for s in slots if len(s) == 512 and s[:4] == b"DGM1" and s[32:48] == self.uuid
                 and xxh3(s[:504]) == u64(s, 504)]
        need(sound, "mark: no slot is sound")
        newest = max(sound, key=lambda s: u64(s, 8))
        self.mark = {"clean": u32(newest, 4) == 1, "incarnation": u64(newest, 24)}
        need(u64(newest, 16) <= self.newest, "the store is older than its mark")

    def dump(self):
        """What a store means, and nothing of how it happens to lie in its files."""
        s = self.superblock
        return {
            "store_uuid": str(uuid.UUID(bytes=s["store"])),
            "cluster_uuid": str(uuid.UUID(bytes=s["cluster"])),
            "part": s["part"], "n_parts": s["n_parts"],
            "incarnation": self.incarnation, "log_number": self.newest, "mark": self.mark,
            "book": self.book,
            "arrays": [{"edge_type": etype, "array": array, "dtype": DTYPES[a["dtype"]][0],
                        "elements": self.elements(a)}
                       for (etype, array), a in sorted(self.arrays.items()) if etype != OUTSIDE],
            **({"outside_ids": self.outside} if self.outside else {}),
            "tensors": [{"id": t["id"], "name": t["name"], "side": ("node", "edge")[t["side"]],
                         "type": t["type"], "original_numbering": t["numbering"] == 1,
                         "dtype": DTYPES[t["dtype"]][0], "shape": t["shape"],
                         "durability": t["durability"], "interval_ms": t["interval_ms"],
                         "flags": t["flags"], "group": t["group"], "images": t["images"],
                         "rows": [row.hex() for row in t["rows"]]}
                        | ({"made": t["made"]} if t["made"] else {})
                        for _, t in sorted(self.tensors.items())],
            "sessions": [{"id": str(uuid.UUID(bytes=i)), "number": n, "window": f"{window:x}"}
                         for i, (n, window) in sorted(self.marks.items())],
            "journal": [{"log": e["log"], "kind": ("", "rows", "fill")[e["kind"]], "op": e["op"],
                         "tensor": e["tensor"], "changes": len(changes(e)), "missing": e["changed"]}
                        for e in self.entries],
        } | ({"operations": self.dump_operations()} if self.operations else {}
             ) | ({"dropped": self.dropped} if self.dropped else {})

    @staticmethod
    def elements(array):
        n = DTYPES[array["dtype"]][1]
        return [int.from_bytes(array["data"][at:at + n], "little", signed=True)
                for at in range(0, len(array["data"]), n)]


def differences(found, wanted, where="store"):
    """Where two dumps differ, one line each."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in sorted(found.keys() | wanted.keys()):
            yield from differences(found.get(name), wanted.get(name), f"{where}.{name}")
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        for i, (a, b) in enumerate(zip(found, wanted)):
            yield from differences(a, b, f"{where}[{i}]")
    elif found != wanted:
        yield f"{where}: found {found!r}, want {wanted!r}"


def main(arguments):
    expected = None
    if len(arguments) == 3 and arguments[0] == "--expect":
        with open(arguments[1], encoding="utf-8") as f:
            expected = json.load(f)
        arguments = arguments[2:]
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: second_reader.py [--expect FILE] STORE", file=sys.stderr)
        return 2
    try:
        found = Store(arguments[0]).dump()
    except (Damaged, OSError, UnicodeDecodeError, tarfile.TarError) as e:
        print(f"{arguments[0]}: {e}", file=sys.stderr)
        return 1
    if expected is None:
        print(json.dumps(found, indent=1))
        return 0
    lines = list(differences(found, expected))
    for line in lines[:20]:
        print(line, file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
