"""Values of the project's file, as click takes those of flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from foldproof.configuration import Setting


class ModuleName(click.types.StringParamType):
    """The name of a Python module, or the path of its file."""

    name = "module"


def as_given(option: click.Option, setting: Setting) -> Any:
    """A value of the file in the form in which click takes that of a flag.

    Raises:
        UsageError: It is of another type.
    """
    value = setting.value
    if not option.multiple:
        return _one(option, setting, value)
    if isinstance(value, dict):  # set_dim = {batch = 1}
        return [f"{name}={_joined(option, setting, inner)}" for name, inner in value.items()]
    return [_one(option, setting, each) for each in (value if isinstance(value, list) else [value])]


def _joined(option: click.Option, setting: Setting, value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(each, int) and not isinstance(each, bool) for each in values):
        raise setting.error(f"{setting.key!r} has {value!r}", "Give whole numbers")
    return ",".join(map(str, values))


def _one(option: click.Option, setting: Setting, value: Any) -> Any:
    expected: tuple[type, ...] = (str,)
    words = "a string"
    if option.is_flag:
        expected, words = (bool,), "true or false"
    elif isinstance(option.type, click.types.IntParamType):
        expected, words = (int,), "a whole number"
    elif isinstance(option.type, click.types.FloatParamType):
        expected, words = (int, float), "a number"
    if not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected):
        raise setting.error(f"{setting.key!r} is {value!r}", f"Give {words}")
    if isinstance(value, str) and "\0" in value:
        raise setting.error(f"{setting.key!r} is {value!r}", "Give a string without NUL")
    if _is_path(option, value):
        return str(setting.file.path.absolute().parent / str(value))  # it is meant as seen from the file
    return value


def _is_path(option: click.Option, value: Any) -> bool:
    if isinstance(option.type, ModuleName):
        from foldproof.rewriting import rule_modules

        return rule_modules.is_path(value)
    return isinstance(option.type, click.Path) and value != "-"
