"""YAML source to plain text and back: a strict reader of one block, a canonical writer of one value.

The reader walks the parser's events instead of letting PyYAML build values. A value therefore stays the text that was
written ("010", "no", "12:30"), each part knows its place in the source, an alias is refused before it expands, and no
recursion goes deeper than the limit. The writer quotes every text that a YAML 1.1 or 1.2 reader could read as another
type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MAX_DEPTH = 8
"""Collections inside each other in one value; more is refused."""


class BadYaml(Exception):
    """Why a text is refused: `line` counts from 1, `reason` says what is wrong and how to write it.

    Not a ValueError: python-frontmatter swallows those when it splits, and answers with empty metadata.
    """

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


class Item(NamedTuple):
    """One value or list item: its text, None when it is a plain null; `nested` when it is not a scalar."""

    text: str | None
    nested: bool
    line: int


@dataclass(slots=True)
class YamlEntry:
    """One top-level `key: value` with its places in the source (offsets in characters, lines from 1).

    `items` holds the value itself when `shape` is "scalar", the items when it is "list", nothing for "map".
    `start:end` are the whole lines of the entry; comments and blank lines after its last token are not part
    of it.
    """

    line: int
    key_start: int
    key_end: int
    start: int = 0
    end: int = 0
    value_end: int = 0
    shape: str = "scalar"
    items: list[Item] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)

    def comment(self, text: str) -> int | None:
        """Return the offset of the first comment between or behind this entry's tokens, None without one."""
        for start, end in self._gaps(text):
            at = text.find("#", start, end)
            if at >= 0:
                return at
        return None

    def _gaps(self, text: str) -> Iterator[tuple[int, int]]:
        # Only blanks, indicators (- [ ] , : ?) and comments stand between scalars, so a '#' there is a
        # comment. The header of a block scalar belongs to the scalar's span and may carry one too.
        at = self.key_end
        for start, end in self.spans:
            yield at, start
            if end > start and text[start] in "|>":
                yield start, text.find("\n", start)
            at = end
        yield at, self.end


class Block(dict[str, YamlEntry]):
    """The entries by key, in file order; `linewise` when each has lines of its own from the first column."""

    linewise: bool = True


class BlockLoader:
    """A loader as `yaml.load` drives one: source in, a `Block` out.

    The source is the whole head of the file *with* its opening `---` line, so that the parser's offsets and
    lines are those of the file. Raises BadYaml for what the format forbids and yaml.YAMLError for what is
    not YAML.
    """

    def __init__(self, source: str) -> None:
        import yaml  # here, since most commands that only move claims never parse a todo file

        self._yaml = yaml
        self._text = source
        self._parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(source)

    def dispose(self) -> None:
        """Release the parser."""
        self._parser.dispose()

    def get_single_data(self) -> Block:
        """Read the one document there may be."""
        try:
            return self._document()
        except (ValueError, OverflowError) as exc:
            # PyYAML without libyaml calls chr() on any \U escape.
            line = getattr(self._parser, "line", 0) + 1
            raise BadYaml(line, f"an escape that is not a character ({exc}); write the character itself") from exc

    def _document(self) -> Block:
        get = self._parser.get_event
        get()  # stream start
        get()  # document start: the opening line
        block = self._mapping(get())
        end = get()
        if end.explicit:
            raise BadYaml(end.start_mark.line + 1, "'...' ends the document; the frontmatter ends with '---'")
        rest = get()
        if not isinstance(rest, self._yaml.StreamEndEvent):
            raise BadYaml(
                rest.start_mark.line + 1,
                "a second document starts here; write one frontmatter, closed by a line of exactly '---'",
            )
        return block

    def _mapping(self, root: Any) -> Block:
        self._plain_properties(root)
        block = Block()
        if isinstance(root, self._yaml.ScalarEvent) and not root.value and not root.style:
            return block  # nothing, or comments only
        if not isinstance(root, self._yaml.MappingStartEvent):
            raise BadYaml(root.start_mark.line + 1, "the frontmatter is not a mapping; write lines of 'key: value'")
        start: Any = root.start_mark
        column = start.column
        flow = bool(root.flow_style)
        block.linewise = not flow and column == 0
        get, ends = self._parser.get_event, self._yaml.MappingEndEvent
        while not isinstance(event := get(), ends):
            name = self._key(event, block)
            start = event.start_mark
            if not name or (not flow and start.column != column):
                raise BadYaml(start.line + 1, "a key must be plain text before a colon; write 'key: value'")
            entry = YamlEntry(start.line + 1, start.index, event.end_mark.index)
            self._node(get(), entry, 1)
            block[name] = entry
        self._regions(block, flow=flow)
        return block

    def _regions(self, block: Block, *, flow: bool) -> None:
        text, limit = self._text, len(self._text)
        for entry in reversed(block.values()):
            if flow:
                entry.start, entry.end = entry.key_start, entry.value_end
                continue
            entry.start = text.rfind("\n", 0, entry.key_start) + 1
            end = entry.value_end
            # A block scalar ends where the next line starts; everything else ends inside its last line.
            end = self._scalar_end(entry, end) if text[end - 1] == "\n" else text.find("\n", end) + 1
            # An empty value after '?' is placed at the next token, which may be the next entry's.
            entry.end = limit = min(end, limit)
            limit = entry.start

    def _scalar_end(self, entry: YamlEntry, end: int) -> int:
        # Empty lines behind a block scalar are its text only if it keeps them ('+').
        text, header = self._text, entry.spans[-1][0]
        if text[header : header + 1] in ("|", ">"):
            keeps = "+" in text[header : text.find("\n", header)].split("#")[0]
            while not keeps and text.endswith(("\n\n", "\n\r\n"), header, end):
                end -= 2 if text[end - 2] == "\r" else 1
        return end

    def _key(self, event: Any, seen: Block | set[str]) -> str:
        self._plain_properties(event)
        line = event.start_mark.line + 1
        if not isinstance(event, self._yaml.ScalarEvent):
            raise BadYaml(line, "a key must be plain text, not a list or a mapping; write 'key: value'")
        name: str = event.value
        _whole_characters(name, line)
        if name == "<<" and not event.style:
            raise BadYaml(line, "merge keys '<<' are not allowed; write the keys out")
        if name in seen:
            raise BadYaml(line, f"the key {shown(name)} stands here a second time; keep one of them")
        return name

    def _node(self, event: Any, entry: YamlEntry, depth: int) -> None:
        self._plain_properties(event)
        yaml, start, line = self._yaml, event.start_mark.index, event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            entry.value_end = end = event.end_mark.index
            entry.spans.append((start, end))
            _whole_characters(event.value, line)
            if depth == 1 or (depth == 2 and entry.shape == "list"):
                text: str = event.value
                entry.items.append(Item(None if not event.style and text in _NULLS else text, False, line))
            return
        if depth > MAX_DEPTH:
            raise BadYaml(line, _TOO_DEEP)
        get = self._parser.get_event
        if depth == 2 and entry.shape == "list":
            entry.items.append(Item(None, True, line))
        if isinstance(event, yaml.SequenceStartEvent):
            if depth == 1:
                entry.shape = "list"
            while not isinstance(inner := get(), yaml.SequenceEndEvent):
                self._node(inner, entry, depth + 1)
        else:
            if depth == 1:
                entry.shape = "map"
            seen: set[str] = set()
            while not isinstance(inner := get(), yaml.MappingEndEvent):
                seen.add(self._key(inner, seen))
                entry.spans.append((inner.start_mark.index, inner.end_mark.index))
                self._node(get(), entry, depth + 1)
        if event.flow_style:  # the end of a block collection is only where the next token was found
            entry.value_end = inner.end_mark.index

    def _plain_properties(self, event: Any) -> None:
        # The source tells more than the event: libyaml drops the tag of `! text`. No scalar starts with
        # these.
        at = event.start_mark
        if (first := self._text[at.index : at.index + 1]) in _PROPERTIES:
            raise _property_refusal(at.line + 1, first)


def yaml_refusal(error: Any, source: str) -> BadYaml:
    """Turn a yaml.YAMLError on `source` (a whole head) into a BadYaml that shows how to quote the line."""
    mark = getattr(error, "problem_mark", None)
    # What cannot be finished is found at the end of the block; the place to mend is where it began.
    context = str(getattr(error, "context", None) or "")
    if context.startswith("while scanning"):
        mark = getattr(error, "context_mark", None) or mark
    line = mark.line + 1 if mark else 1
    for char, what in _PROPERTIES.items():
        if context.endswith(what):  # such as `*.py`, which is not even the name of an alias
            return _property_refusal(line, char)
    problem = str(getattr(error, "problem", None) or "this is not YAML")
    if "nesting" in problem:
        return BadYaml(line, _TOO_DEEP)
    if context.endswith("quoted scalar") and "unexpected" in problem:
        return BadYaml(line, "a quote is opened here and not closed; close it, on the same line")
    found = _LINE.match(source.split("\n")[line - 1].rstrip("\r"))
    if not found:
        return BadYaml(line, f"{problem}; write 'key: value', with the value in double quotes")
    quoted = write_scalar(found[2][:60].strip(), quote=True)
    return BadYaml(line, f"{problem}; put the value in double quotes, like {found[1]}: {quoted}")


def _property_refusal(line: int, char: str) -> BadYaml:
    return BadYaml(line, f"{_PROPERTIES[char]} ('{char}') is not allowed; write the value in double quotes")


def shown(text: str) -> str:
    """Return a name for a message: quoted, without control characters, at most 60 characters of it."""
    return ascii(text if len(text) <= 60 else text[:60] + "...")


def write_scalar(text: str, *, flow: bool = False, number: bool = False, quote: bool = False) -> str:
    """The canonical YAML of one text: plain when it is unambiguous, else double-quoted.

    `flow`: the text is inside `[...]`. `number`: a plain decimal integer may stay plain. `quote`: never plain. Raises
    ValueError for a lone surrogate, which UTF-8 cannot encode.
    """
    if not text.isascii() and _SURROGATE.search(text):
        raise ValueError("half a character (a lone surrogate) cannot be stored")
    if not quote:
        plain = _PLAIN_IN_FLOW if flow else _PLAIN
        if (plain.fullmatch(text) and text.lower() not in _WORDS) or (number and _NUMBER.fullmatch(text)):
            return text
    return '"' + _ESCAPED.sub(lambda found: _escape(found[0]), text) + '"'


def write_list(items: tuple[str, ...]) -> str:
    """Return the one-line flow list of these texts."""
    return "[" + ", ".join(write_scalar(item, flow=True) for item in items) + "]"


def refuse_character(text: str, end: int) -> None:
    """Raise BadYaml for the first character before `end` that may not stand in a frontmatter as it is."""
    found = _FORBIDDEN.search(text, 0, end)
    if not found:
        return
    char, line = found[0], text.count("\n", 0, found.start()) + 1
    if char == "\r":
        raise BadYaml(line, "a carriage return without a line feed; end each line with LF or CRLF")
    raise BadYaml(line, f"the character U+{ord(char):04X} as it is; write it as {_escape(char)} in double quotes")


def _whole_characters(text: str, line: int) -> None:
    # libyaml refuses "\\ud83d" by itself, the parser in Python lets it through.
    if not text.isascii() and _SURROGATE.search(text):
        raise BadYaml(line, "an escape of half a character; write the character itself")


def _escape(char: str) -> str:
    code = ord(char)
    return _SHORT.get(char) or (f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}")


_TOO_DEEP = f"lists and mappings inside each other, more than {MAX_DEPTH} deep; write it flatter"
_LINE = re.compile(r"([A-Za-z_][\w-]*):[ \t]+([^\s\"'\[{|>].*)")
_PROPERTIES = {"!": "a tag", "&": "an anchor", "*": "an alias"}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_SURROGATE = re.compile("[\ud800-\udfff]")
# What YAML does not count as printable, the line ends that only some YAML readers know, and the byte order
# mark.
_FORBIDDEN = re.compile(
    "[^\\t\\n\\r\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufefe\\uff00-\\ufffd\\U00010000-\\U0010ffff]"
    "|\\r(?!\\n)"
)
# The same, quotes and backslash, and the bidirectional overrides and isolates: they would make a reviewed
# line show in another order than it is read. Right-to-left letters themselves stay.
_ESCAPED = re.compile(
    '["\\\\]|[^\\x20-\\x7e\\xa0-\\u2027\\u202f-\\u2065\\u206a-\\ud7ff\\ue000-\\ufefe\\uff00-\\ufffd\\U00010000-\\U0010ffff]'
)
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_./()+@*, -]*[A-Za-z0-9_./()+@*,-])?")
_PLAIN_IN_FLOW = re.compile(r"[A-Za-z](?:[A-Za-z0-9_./()+@* -]*[A-Za-z0-9_./()+@*-])?")
_NUMBER = re.compile(r"0|[1-9][0-9]*")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})


def plain_yaml(text: str) -> object:
    """The plain values of somebody else's YAML, which is held to none of the rules of this format.

    Raises ValueError for what is not one document of YAML.
    """
    import yaml  # as above

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as exc:
        raise ValueError(str(exc)) from exc
