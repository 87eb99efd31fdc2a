"""A command whose options may also stand in the project's file, or in the environment.

The options are those that click knows of: nothing here lists them. A flag goes before an environment variable
`FOLDPROOF_<KEY>`, that before the file, and the file before the default.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from foldproof.cli.configured_values import as_given
from foldproof.errors import UsageError

if TYPE_CHECKING:
    from foldproof.configuration import ConfigurationFile, InForce, Setting

PREFIX = "FOLDPROOF_"
"""That of the environment variables."""

OF_MODELS = frozenset({"budget", "original"})
"""The keys that are about models, and no options: see `foldproof.gating`."""

OF_EACH_MODEL = frozenset({"require_certificate", "skip"})
"""Options of a command for several models that may stand in a section: see `of_model`."""

# What is asked for each time anew: that a file is written over, and which file says what holds.
_NEVER = frozenset({"force", "in_place", "output", "config", "no_config"})
_FILE = f"{__name__}.file"


class ConfiguredCommand(click.Command):
    """A command that looks for the project's file."""

    def __init__(self, name: str | None = None, **options: Any) -> None:
        super().__init__(name, **options)
        self.params += [
            click.Option(
                ["--config"], metavar="FILE", type=click.Path(path_type=Path), expose_value=False,
                envvar=f"{PREFIX}CONFIG", help="Take the options from this file. [default: foldproof.toml or "
                "pyproject.toml, the nearest from the working folder upward]",
            ),
            click.Option(["--no-config"], is_flag=True, expose_value=False, help="Take no options from a file."),
        ]  # fmt: skip
        for key, option in self.keys.items():
            option.envvar = option.envvar or f"{PREFIX}{key.upper()}"

    @property
    def keys(self) -> dict[str, click.Option]:
        """The options that may be configured, by their keys: their long names, with `_` for `-`."""
        options = (each for each in self.params if isinstance(each, click.Option))
        return {key: option for option in options if (key := _key(option)) not in _NEVER}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the command line, after the file."""
        self._configure(ctx, self._given(ctx, args))
        with _naming_variables(ctx):
            return super().parse_args(ctx, args)

    def in_force(self, ctx: click.Context, args: list[str]) -> list[InForce]:
        """The options as the command would take them, with where each is from.

        Args:
            ctx: A new context of this command.
            args: Its arguments. Those that it requires may be missing.

        Raises:
            UsageError: The file has what makes no sense.
        """
        from foldproof.configuration import InForce

        given = self._given(ctx, args)
        settings = self._configure(ctx, given)
        found = []
        for key, option in self.keys.items():
            with _naming_variables(ctx):
                option.handle_parse_result(ctx, given, [])
            name = str(option.name)
            source = {
                ParameterSource.COMMANDLINE: "flag",
                ParameterSource.ENVIRONMENT: _variable(option),
                ParameterSource.DEFAULT_MAP: str(settings[key].place) if key in settings else "",
            }.get(ctx.get_parameter_source(name) or ParameterSource.DEFAULT, "default")
            value = ctx.params.get(name)
            is_unset = value is getattr(click.core, "UNSET", None)  # so click 8.3 and later call what is not given
            found.append(InForce(key, None if is_unset else value, source))
        return found

    def _given(self, ctx: click.Context, args: list[str]) -> Mapping[str, Any]:
        """What stands on the command line, not yet converted."""
        return dict(self.make_parser(ctx).parse_args(list(args))[0])

    def _configure(self, ctx: click.Context, given: Mapping[str, Any]) -> dict[str, Setting]:
        """Makes the file's settings the defaults of this command.

        Returns:
            Those that hold, by their keys.
        """
        is_help = any(each.is_eager and each.name in given for each in self.get_params(ctx))
        if ctx.resilient_parsing or is_help:
            return {}
        file = _file(ctx, given)
        if file is None:
            return {}
        known = check(ctx, file)
        model = given.get("model")
        settings = dict(settings_for(file, ctx.info_name, Path(model) if isinstance(model, str) else None, known))
        held = {key: setting for key, setting in settings.items() if key in self.keys}
        ctx.default_map = {
            **(ctx.default_map or {}),
            **{str(self.keys[key].name): as_given(self.keys[key], each) for key, each in held.items()},
        }
        return held


def configuration(ctx: click.Context) -> ConfigurationFile | None:
    """The file that holds for what runs now."""
    found: ConfigurationFile | None = ctx.meta.get(_FILE)
    return found


def check(ctx: click.Context, file: ConfigurationFile) -> Mapping[str, Mapping[str, click.Option]]:
    """Looks all of a file over, also what is for other commands.

    Returns:
        The options by their keys, of each command by its name.

    Raises:
        UsageError: A key is unknown, or its value makes no sense.
    """
    root = ctx.find_root().command
    commands = root.commands if isinstance(root, click.Group) else {str(ctx.info_name): ctx.command}
    known = {name: each.keys for name, each in commands.items() if isinstance(each, ConfiguredCommand)}
    anywhere = {key: option for keys in reversed(known.values()) for key, option in keys.items()}
    takes_one = [each for each in commands.values() if any(param.name == "model" for param in each.params)]
    of_one_model = OF_EACH_MODEL.union(*(each.keys for each in takes_one if isinstance(each, ConfiguredCommand)))
    for setting in file.settings:
        if setting.key.replace("_", "-") in known and isinstance(setting.value, dict):
            for inner in setting.inner():
                _check_one(ctx, inner, known[setting.key.replace("_", "-")])
        elif setting.key != "budget":
            _check_one(ctx, setting, anywhere, ["model", "budget", *known])
    for section in file.sections:
        for setting in section.settings:
            if setting.key in OF_MODELS:
                continue
            _check_one(ctx, setting, anywhere, ["path", *OF_MODELS])
            if setting.key not in of_one_model:
                raise setting.error(f"{setting.key!r} is not about one model", "Write it above the sections")
    return known


def of_model(ctx: click.Context, key: str, model: Path) -> Any:
    """The value that one of `OF_EACH_MODEL` has for a model, in a command for several."""
    file = configuration(ctx)
    by_person = ctx.get_parameter_source(key) in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
    sections = [] if file is None or by_person else [each for each in file.sections if each.is_about(model)]
    value = ctx.params[key]
    for setting in (setting for section in sections for setting in section.settings if setting.key == key):
        option = next(each for each in ctx.command.params if isinstance(each, click.Option) and each.name == key)
        value = option.process_value(ctx, as_given(option, setting))
    return value


def settings_for(
    file: ConfigurationFile, command: str | None, model: Path | None, known: Mapping[str, object]
) -> Iterator[tuple[str, Setting]]:
    """What a file says, by the key, for a command and a model; of one key, the last holds.

    Args:
        file: The file.
        command: The command's name.
        model: The model, where the command has just one.
        known: The names of the commands.
    """
    for setting in file.settings:
        if not (isinstance(setting.value, dict) and setting.key.replace("_", "-") in known):
            yield setting.key, setting
    for setting in file.settings:
        if isinstance(setting.value, dict) and setting.key.replace("_", "-") == command:
            yield from ((inner.key, inner) for inner in setting.inner())
    for section in file.sections:
        if model is not None and section.is_about(model):
            yield from ((setting.key, setting) for setting in section.settings)


def _file(ctx: click.Context, given: Mapping[str, Any]) -> ConfigurationFile | None:
    """The file that the person names or, unless they want none, the nearest one; it is read once."""
    from foldproof.configuration import find, read

    by_flag = {name: given.get(name) for name in ("config", "no_config")}
    if all(by_flag.values()):
        raise UsageError("--config and --no-config contradict each other", hint="Leave out one of them")
    if not any(by_flag.values()) and _FILE in ctx.meta:
        return configuration(ctx)
    file = None
    if not by_flag["no_config"]:
        options = {option.name: option for option in ctx.command.params}
        named = by_flag["config"] or options["config"].resolve_envvar_value(ctx)
        file = read(Path(named)) if named else find(_working_folder())
    ctx.meta[_FILE] = file
    return file


def _working_folder() -> Path:
    """The working folder.

    Raises:
        UsageError: It is gone.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise UsageError(f"the working folder is gone: {error}", hint="Change to another one") from error


def unknown_variables(ctx: click.Context) -> list[str]:
    """The environment variables that look like ours, and name no option."""
    root = ctx.find_root().command
    commands = root.commands.values() if isinstance(root, click.Group) else [ctx.command]
    keys = {key for each in commands if isinstance(each, ConfiguredCommand) for key in (*each.keys, "config")}
    ours = {f"{PREFIX}{key.upper()}" for key in keys}
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in ours)


def _key(option: click.Option) -> str:
    """The key of an option: its long name, or what click calls it where it has none."""
    long = [name for name in option.opts if name.startswith("--")]
    return (max(long, key=len)[2:] if long else str(option.name)).replace("-", "_")


@contextlib.contextmanager
def _naming_variables(ctx: click.Context) -> Iterator[None]:
    """Says of a value that makes no sense which environment variable it is from, if it is from one."""
    try:
        yield
    except click.BadParameter as error:
        name = None if error.param is None else error.param.name
        if name is None or ctx.get_parameter_source(name) is not ParameterSource.ENVIRONMENT:
            raise
        words = f"{error.message.rstrip('.')}. It is from the environment variable {_variable(error.param)}."
        raise click.BadParameter(words, error.ctx, error.param) from error


def _variable(option: click.Parameter | None) -> str:
    return str(option.envvar) if option is not None else ""


def _check_one(
    ctx: click.Context, setting: Setting, known: Mapping[str, click.Option], others: Sequence[str] = ()
) -> None:
    """Refuses a key that there is not, or a value that its option does not take."""
    if setting.key in _NEVER:
        raise setting.error(f"{setting.key!r} can't be configured", "Give it on the command line, each time anew")
    if setting.key not in known:
        import difflib

        near = difflib.get_close_matches(setting.key, [*known, *others], n=1)
        hint = f"The nearest name is {near[0]!r}" if near else "`foldproof config` shows what there is"
        raise setting.error(f"there is no option {setting.path[-1]!r}", hint)
    option = known[setting.key]
    value = as_given(option, setting)
    try:
        option.process_value(ctx, value)
    except click.BadParameter as error:
        raise setting.error(f"{setting.key!r}: {error.message.rstrip('.')}") from error
