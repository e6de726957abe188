"""Edits of JSON as text: what is not the edited item keeps its bytes, its layout and its order."""

from __future__ import annotations

import json
import re
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Node:
    """A value in a text, from `start` to `end`. `keys` and `items` are those of a list or object; a member of an
    object begins at `starts`, with its key."""

    __slots__ = ("end", "items", "keys", "start", "starts")

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.keys: list[str] = []
        self.items: list[Node] = []
        self.starts: list[int] = []

    def get(self, key: str) -> Node | None:
        """The member of that name; of two, the last one, as JSON is read everywhere."""
        for name, item in zip(reversed(self.keys), reversed(self.items), strict=True):
            if name == key:
                return item
        return None


def parse(text: str) -> Node:
    """Where everything is in a text that `json.loads` takes."""
    return _value(text, _skip(text, 0))


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int) -> Node:
    node = Node(at)
    opening = text[at]
    if opening in "[{":
        at = _skip(text, at + 1)
        while text[at] not in "]}":
            node.starts.append(at)
            if opening == "{":
                key, at = _DECODER.raw_decode(text, at)
                node.keys.append(key)
                at = _skip(text, _skip(text, at) + 1)
            item = _value(text, at)
            node.items.append(item)
            at = _skip(text, item.end)
            if text[at] == ",":
                at = _skip(text, at + 1)
        node.end = at + 1
    else:
        node.end = _DECODER.raw_decode(text, at)[1]
    return node


def without(text: str, container: Node, number: int) -> str:
    """The text less one item of a list or object, with its comma."""
    if len(container.items) == 1:
        # The space that stood between the brackets, less the line end that came with the item.
        left = text[container.items[0].end : container.end - 1].rpartition("\n")[2]
        outer = _indent_at(text, container.start)
        return text[: container.start + 1] + left.removeprefix(outer) + text[container.end - 1 :]
    if number:
        start, end = container.items[number - 1].end, container.items[number].end
    else:
        start, end = container.starts[0], container.starts[1]
    return text[:start] + text[end:]


def with_item(text: str, container: Node, value: Any, key: str | None = None) -> str:
    """The text with one more item at the end of a list, or of an object (`key`), laid out as its neighbours are."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if container.items:
        # Before the last item: as between two items, or behind the bracket.
        before = container.items[-2].end if len(container.items) > 1 else container.start
        gap = text[before + 1 : container.starts[-1]].lstrip(",")
        gap = gap if gap.isspace() else " "
        at, tail = container.items[-1].end, ""
        head = f",{gap}"
        inner = gap.rpartition("\n")[2] if "\n" in gap else None
    else:
        at, head, tail, inner = container.start + 1, "", "", None
        if "\n" in text.strip():
            outer = _indent_at(text, container.start)
            inner = outer + _unit(text)
            head, tail = newline + inner, newline + outer
    rendered = _rendered(text, value, inner, newline)
    if key is not None:
        rendered = f"{json.dumps(key, ensure_ascii=False)}{_colon(text)}{rendered}"
    between = text[at : container.end - 1]
    if not container.items and "\n" in between:
        tail = ""
    return text[:at] + head + rendered + tail + text[at:]


def _rendered(text: str, value: Any, indent: str | None, newline: str) -> str:
    """The value in one line (`indent` None), or with its further lines below that indent."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":") if _colon(text) == ":" else None)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return (newline + indent).join(lines)


def _colon(text: str) -> str:
    """What stands between a key and its value."""
    return ":" if re.search(r'":[^ \t\r\n]', text) and not re.search(r'":[ \t\r\n]', text) else ": "


def _unit(text: str) -> str:
    """One level of indentation."""
    found = re.search(r"(?m)^([ \t]+)\S", text)
    return found[1] if found else "  "


def _indent_at(text: str, at: int) -> str:
    """The indentation of the line that a place is in."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
