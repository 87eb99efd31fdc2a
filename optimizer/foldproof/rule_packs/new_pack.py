"""A new rule pack: a package with one rule, its tests, and what continuous integration runs."""

from __future__ import annotations

import importlib.util
import keyword
import re
import shutil
import tempfile
from importlib import resources
from pathlib import Path
from string import Template

from foldproof import __version__
from foldproof.destinations import check_empty
from foldproof.errors import UsageError
from foldproof.rewriting.expression import snake_case

_FILES = {
    "pyproject.toml.tmpl": "pyproject.toml",
    "README.md.tmpl": "README.md",
    "gitignore.tmpl": ".gitignore",
    "github/ci.yml.tmpl": ".github/workflows/ci.yml",
    "src/package/__init__.py.tmpl": "src/$package/__init__.py",
    "src/package/softsign.py.tmpl": "src/$package/softsign.py",
    "tests/test_rules.py.tmpl": "tests/test_rules.py",
}
"""The templates, and the file that each becomes."""


def write_pack(name: str, folder: Path) -> list[Path]:
    """Writes a new rule pack. Where its files can't be made, there is none of them.

    Args:
        name: The name of the distribution, such as `acme-rules`. Its package is `acme_rules`.
        folder: Where to write it, which must be empty or not there.

    Returns:
        The files.

    Raises:
        UsageError: The name is none, or is taken; or the folder is not empty, or can't be written.
    """
    package = _package_of(name)
    check_empty(folder)
    class_name = "".join(part.capitalize() for part in package.split("_")) + "Softsign"
    words = {
        "name": name,
        "package": package,
        "class_name": class_name,
        "rule": snake_case(class_name),
        "version": __version__,
    }
    template = resources.files(__package__) / "template"
    try:
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.absolute().parent, prefix=f".{name}.") as temporary:
            made = Path(temporary, name)
            for source, target in _FILES.items():
                path = made / Template(target).substitute(words)
                path.parent.mkdir(parents=True, exist_ok=True)
                text = template.joinpath(source).read_text(encoding="utf-8")
                path.write_text(Template(text).substitute(words), encoding="utf-8")
            if folder.exists():  # it stays, as it may be the working folder, or a link to one
                for each in made.iterdir():
                    shutil.move(each, folder)
            else:
                shutil.move(made, folder)
    except OSError as error:
        raise UsageError(f"{folder} can't be written: {error}", hint="Name another folder") from error
    return [folder / Template(target).substitute(words) for target in _FILES.values()]


def _package_of(name: str) -> str:
    """The import package of a distribution.

    Raises:
        UsageError: There can be none of that name.
    """
    hint = "Name it in small letters and digits, with - between words, such as acme-rules"
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise UsageError(f"{name!r} is no name for a rule pack", hint=hint)
    package = name.replace("-", "_")
    if keyword.iskeyword(package) or importlib.util.find_spec(package) is not None:
        raise UsageError(f"Python knows something else by the name {package!r}", hint="Choose another name")
    return package
