"""Numbers of many finished samples in one append: 8 bytes a number, checked, and whole after any crash.

A block is a header and its payload: the numbers of the samples, where they do not follow each other, and their outputs
row by row (64-bit, little endian). The header has a magic word, how many samples and outputs, the CRC-32 of the
payload, the time the samples took in s, the first sample (-1: they stand in the payload), and its own CRC-32.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from mor.campaign.journal import Appended
from mor.campaign.workers.chunk import Block

MAGIC = b"HMB1"
_HEAD = struct.Struct("<4sIIIdq")
_CHECK = struct.Struct("<I")
_SIZE = _HEAD.size + _CHECK.size


def packed(block: Block) -> bytes:
    """Return a block as bytes."""
    indices = np.asarray(block.indices, dtype="<i8")
    together = bool(np.all(np.diff(indices) == 1))
    payload = b"" if together else indices.tobytes()
    payload += np.ascontiguousarray(block.numbers, dtype="<f8").tobytes()
    first = int(indices[0]) if together else -1
    head = _HEAD.pack(MAGIC, *block.numbers.shape, zlib.crc32(payload), block.seconds, first)
    return head + _CHECK.pack(zlib.crc32(head)) + payload


def read_blocks(path: Path) -> tuple[list[Block], int, int]:
    """Return the blocks of a file, the bytes up to the end of the last whole one, and how many are damaged.

    A last block without its end is an append that was cut off: it was never reported, and does not count as damage.
    """
    if not path.exists():
        return [], 0, 0
    data, at, size, damaged = path.read_bytes(), 0, 0, 0
    blocks = []
    while at + _SIZE <= len(data):
        head = data[at : at + _HEAD.size]
        magic, n, columns, check, seconds, first = _HEAD.unpack(head)
        if magic != MAGIC or _CHECK.unpack_from(data, at + _HEAD.size)[0] != zlib.crc32(head):
            damaged += 1
            at = data.find(MAGIC, at + 1)
            if at < 0:
                size = len(data)
                break
            continue
        start = at + _SIZE
        end = start + 8 * n * (columns + (first < 0))
        if end > len(data):
            break
        if zlib.crc32(memoryview(data)[start:end]) == check:
            values = np.frombuffer(data, dtype="<f8", count=n * columns, offset=end - 8 * n * columns)
            indices = np.arange(first, first + n) if first >= 0 else np.frombuffer(data, "<i8", count=n, offset=start)
            blocks.append(Block(indices, values.reshape(n, columns), seconds))
        else:
            damaged += 1
        at = size = end
    return blocks, size, damaged


class Numbers:
    """Outputs (n, outputs) of the samples that came in blocks; done: which; seconds: the time all of them took.

    Parameters
    ----------
    path
        File of blocks.
    n, outputs
        Number of samples and of their outputs; a block that does not fit counts as damaged.
    """

    def __init__(self, path: Path, n: int, outputs: int) -> None:
        self.values, self.done, self.seconds = np.full((n, outputs), np.nan), np.zeros(n, dtype=bool), 0.0
        blocks, _, self.damaged = read_blocks(path)
        for block in blocks:
            inside = block.numbers.shape[1] == outputs and np.all((block.indices >= 0) & (block.indices < n))
            if inside and np.isfinite(block.numbers).all():
                self.take(block)
            else:
                self.damaged += 1

    def take(self, block: Block) -> None:
        """Take the numbers of a block."""
        self.values[block.indices], self.done[block.indices] = block.numbers, True
        self.seconds += block.seconds


class BlockFile(Appended):
    """Open a file of blocks to append to; a cut-off last one is removed first."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, read_blocks(path)[1])

    def append(self, block: Block) -> None:
        """Append a block; when this returns it is on disk, when it raises the file is as it was."""
        self._append(packed(block))
