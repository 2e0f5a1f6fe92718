"""Thrift's compact protocol, as far as reading the headers of Parquet needs it.

A structure becomes a dict from the numbers of its fields to their values: integers, bytes, lists and dicts.
"""

from __future__ import annotations

from typing import Any

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12
_WHOLE = (4, 5, 6)  # of 16, 32 and 64 bits, all written alike
_DEEPEST = 16


class ThriftError(ValueError):
    """The bytes are not valid Thrift."""


class ThriftReader:
    """Reads structures from bytes, never beyond their end; ``position`` advances while reading."""

    def __init__(self, data: Any, position: int = 0) -> None:
        self.data, self.position = data, position

    def read(self) -> dict[int, Any]:
        """Read one structure and advance past it.

        Raises:
            ThriftError: If there is none.
        """
        try:
            return self._structure(0)
        except IndexError:
            raise ThriftError("it ends too early") from None

    def _structure(self, depth: int) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while True:
            head = self.data[self.position]
            self.position += 1
            kind = head & 0x0F
            if kind == _STOP:
                return fields
            step = head >> 4
            number = number + step if step else self._whole()
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ThriftError("it is nested too deeply")
        if kind in _WHOLE:
            return self._whole()
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind == _STRUCT:
            return self._structure(depth + 1)
        if kind in (_LIST, _SET):
            return self._items(depth)
        if kind in (_BYTE, _TRUE, _FALSE):  # Truth is a byte inside a list.
            return self._bytes(1)[0]
        if kind == _DOUBLE:
            return self._bytes(8)
        raise ThriftError(f"it has a value of kind {kind}")  # Parquet has no maps.

    def _items(self, depth: int) -> list[Any]:
        head = self._bytes(1)[0]
        count = head >> 4
        if count == 15:
            count = self._varint()
        if count > len(self.data) - self.position:  # Every item takes a byte at least.
            raise ThriftError(f"it has a list of {count} items")
        return [self._value(head & 0x0F, depth + 1) for _ in range(count)]

    def _bytes(self, count: int) -> bytes:
        begin = self.position
        self.position += count
        if self.position > len(self.data):
            raise IndexError
        return bytes(self.data[begin : self.position])

    def _varint(self) -> int:
        byte = self.data[self.position]
        self.position += 1
        if byte < 0x80:
            return int(byte)
        value, shift = byte & 0x7F, 7
        while byte >= 0x80:
            byte = self.data[self.position]
            self.position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 70:
                raise ThriftError("it has a number of more than 64 bits")
        return int(value)

    def _whole(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
