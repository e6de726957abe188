"""The entry of the client: each argument is converted to the plain value that is stored, or refused by its name.

`checked` wraps the public methods of a namespace. KINDS names the kind of each argument, and each kind is one
function (name, value) -> plain value. The result is exactly a str, int, bool, tuple, datetime or None, never a
subclass: every reader gets back what was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from functools import wraps
from inspect import iscoroutinefunction, isfunction
from itertools import islice
from typing import Any, TypeVar

from loopx_git.client.parameters import expanded
from loopx_git.core.times import UNSET, parse_duration, parse_time, to_milliseconds
from loopx_git.errors import UsageError

#: Most items of a list, and most words of a command to start: past any sane use, and before memory runs out.
LIST_MAX, ARGV_MAX = 10_000, 200_000

Convert = Callable[[str, Any], Any]
Class = TypeVar("Class", bound=type)


def _refuse(name: str, value: Any, wanted: str, hint: str = "") -> UsageError:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return UsageError(f"{name}={shown} is not {wanted}", hint=hint or f"give {name} as {wanted}")


def text(name: str, value: Any) -> Any:
    """A str (None stays None). Of a member of an enumeration of strings it is the string."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise _refuse(name, value, "text")
    plain = str.__str__(value)
    if any("\ud800" <= char <= "\udfff" for char in plain):
        raise _refuse(name, value, "text that can be written as UTF-8")
    if "\0" in plain:
        raise _refuse(name, value, "text without a NUL character")
    return plain


def prose(name: str, value: Any) -> Any:
    """Text of several lines; the line ends of Windows become line feeds."""
    plain = text(name, value)
    return plain if plain is None else plain.replace("\r\n", "\n")


def identifier(name: str, value: Any) -> Any:
    """An id, an alias or a name: a str, or a whole number, which becomes its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int.__repr__(value)
    if value is not None and not isinstance(value, str):
        raise _refuse(name, value, "a name: text or a whole number")
    return text(name, value)


def whole(name: str, value: Any) -> Any:
    """An int, from any form of a whole number (3, 3.0, "3"). None stays None. True is not a number."""
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit() and len(value) <= 18:
        return int(value)
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise _refuse(name, value, "a whole number")
    return int(value.__index__())


def duration(name: str, value: Any) -> Any:
    """Seconds as an int, None for no bound, or UNSET (also spelled "unset"): from seconds, a timedelta, or text such
    as 45m."""
    if value is None:
        return None
    if value is UNSET or (isinstance(value, str) and value == UNSET.value):
        return UNSET
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, str):
        try:
            return parse_duration(text(name, value))
        except ValueError:
            raise _refuse(
                name, value, "a duration", f"give {name} in seconds, or as text such as '90s', '45m', '2h'"
            ) from None
    try:
        return whole(name, value)
    except UsageError:
        raise _refuse(
            name, value, "a whole number of seconds", f"give {name} in seconds, or as text such as '90s', '45m', '2h'"
        ) from None


def flag(name: str, value: Any) -> Any:
    """A bool."""
    if not isinstance(value, bool):
        raise _refuse(name, value, "True or False")
    return value


def moment(name: str, value: Any) -> Any:
    """An aware datetime in UTC, in the milliseconds that are stored, from one in any zone or from text; None stays
    None."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return parse_time(text(name, value))
        except ValueError:
            raise _refuse(name, value, "a UTC time such as 2026-01-02T03:04:05Z") from None
    if not isinstance(value, datetime):
        raise _refuse(name, value, "a datetime")
    if value.utcoffset() is None:
        raise _refuse(name, value, "a datetime with a time zone", f"{name}=datetime.now(timezone.utc), for example")
    utc = value.astimezone(UTC)
    plain = datetime(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, utc.microsecond, UTC)
    return to_milliseconds(plain)


def _all(name: str, value: Iterable[Any], most: int) -> list[Any]:
    """What a list or a generator gives, which may be one without end."""
    found = list(islice(value, most + 1))
    if len(found) > most:
        raise UsageError(f"{name} has more than {most} items", hint=f"give fewer of {name}")
    return found


def _each(name: str, value: Any, convert: Convert) -> Any:
    if value is None:
        return ()
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        # One word where a list is meant is a list of one word.
        return (convert(name, value),)
    if isinstance(value, bytes | bytearray | memoryview | Mapping) or not isinstance(value, Iterable):
        raise _refuse(name, value, "a list")
    items = sorted(value, key=repr) if isinstance(value, set | frozenset) else _all(name, value, LIST_MAX)
    for item in items:
        if item is None:
            raise _refuse(name, value, "a list of words")
    return tuple(convert(name, item) for item in items)


def identifiers(name: str, value: Any) -> Any:
    """A tuple of ids or names. A single one becomes a tuple of one."""
    return _each(name, value, identifier)


def identifiers_or_none(name: str, value: Any) -> Any:
    """Like `identifiers`, but None stays None: the field is not given."""
    return None if value is None else identifiers(name, value)


def words(name: str, value: Any) -> Any:
    """A tuple of texts. A single text becomes a tuple of one, never of its letters."""
    return _each(name, value, text)


def command(name: str, value: Any) -> Any:
    """A command as a tuple of its words. A single text is refused, because it is not split as a shell would."""
    if isinstance(value, str):
        raise _refuse(name, value, "a list of words", f"{name}={value.split()!r}")
    return _each(name, value, text)


def argv(name: str, value: Any) -> Any:
    """A command to start, as a list of its words. A single text is refused."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise _refuse(name, value, "a list of words")
    found = _all(name, value, ARGV_MAX)
    for word in found:
        if not isinstance(word, str) or "\0" in word:
            raise _refuse(name, word, "text that a command can be given")
    return found


def anything(name: str, value: Any) -> Any:
    """A value that passes unchecked: a function, or what its own class checks."""
    return value


#: Argument -> its kind. A method whose argument of such a name is of another kind says so to `checked`.
KINDS: Mapping[str, Convert] = {
    **dict.fromkeys(
        ("todo_id", "todo", "lease_id", "by", "successor", "task", "agent_id", "agent", "to", "name", "session",
         "goal_id", "alias", "goal", "value", "holder"),
        identifier,
    ),
    **dict.fromkeys(("todo_ids", "depends_on", "requires", "excluded", "labels", "label"), identifiers),
    **dict.fromkeys(
        ("title", "reason", "status", "branch", "successor_title", "by_title", "key", "ref", "remote", "rev",
         "on_exit", "op", "kind", "claims", "tip", "text"),
        text,
    ),
    **dict.fromkeys(("body", "note"), prose),
    **dict.fromkeys(("epoch", "priority", "limit", "per_agent"), whole),
    **dict.fromkeys(("ttl", "interval"), duration),
    **dict.fromkeys(("resume_after", "since"), moment),
    "capabilities": identifiers_or_none,
    **dict.fromkeys(("scope", "statuses"), words),
    "validate": command,
    "argv": argv,
    **dict.fromkeys(
        ("dry_run", "force", "resume", "soft", "exclusive", "claim", "fresh", "offline", "ready", "mine", "archived",
         "discard", "signatures", "need_check", "two_step", "verify", "worktree", "keep_worktree", "new", "take",
         "waiting", "blocked"),
        flag,
    ),
    **dict.fromkeys(("sink", "on_lost", "say", "grace", "inbox", "passed"), anything),
}  # a list of words  # fmt: skip


#: Arguments for which None is a value: no bound.
NONE_IS = frozenset({"ttl", "limit"})


def converted(values: Mapping[str, Any], **other: Convert) -> dict[str, Any]:
    """The arguments of one call by name, each converted by its kind. Raises UsageError."""
    return {name: (other.get(name) or KINDS.get(name, anything))(name, value) for name, value in values.items()}


def checked(**other: Convert) -> Callable[[Class], Class]:
    """A class decorator: it converts the arguments of each public method, and gives each call one time budget.

    A class with LASTING has no such budget: its methods may run for long. `other` names the arguments that have
    another kind in this class. A group of parameters (`client.parameters`) is spelled out in the signature.
    """

    def wrap(namespace: Class) -> Class:
        for name, member in list(vars(namespace).items()):
            # What awaits is checked by the method that it calls.
            if not name.startswith("_") and isfunction(member) and not iscoroutinefunction(member):
                setattr(namespace, name, _checked_method(member, other, getattr(namespace, "LASTING", False)))
        return namespace

    return wrap


def _checked_method(method: Callable[..., Any], other: Mapping[str, Convert], long: bool) -> Callable[..., Any]:
    signature, group = expanded(method)
    parameters = signature.parameters
    positional = [name for name, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD][1:]
    defaults = {name: one.default for name, one in parameters.items() if one.default is not one.empty}
    # What must be named may still be None where the method says so: `goal.show(None)` is the goal that is meant.
    named = [one for one in parameters.values() if one.kind is not one.VAR_KEYWORD and one.name not in defaults]
    needed = {one.name for one in named if "None" not in str(one.annotation).split(" | ")}

    @wraps(method)
    def call(self: Any, *args: Any, **values: Any) -> Any:
        given = {**dict(zip(positional, args, strict=False)), **values}
        for name, value in given.items():
            if value is None and name in needed:
                raise _refuse(name, value, "given")
            if group and name not in parameters:
                raise TypeError(f"{method.__qualname__}() got an unexpected keyword argument {name!r}")
        plain = converted(given, **other)
        # None says "as if it were not given" wherever it has no meaning of its own.
        kept = {
            name: plain[name]
            for name in values
            if plain[name] is not None or defaults.get(name) is None or name in NONE_IS
        }
        with nullcontext() if long else self._client.connection.within():
            # Arguments that are too many are passed on: Python's own error names the method.
            words = [plain[name] for name in positional[: len(args)]]
            return method(self, *words, *args[len(positional) :], **{**group, **kept})

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call
