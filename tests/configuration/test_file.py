from __future__ import annotations

from pathlib import Path

import pytest

from foldproof.configuration import find, read
from foldproof.errors import UsageError


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_nearest_file_counts_and_ours_before_the_shared_one(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "[tool.foldproof]\nlevel = 1\n")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find(inner).path == tmp_path / "pyproject.toml"
    write(tmp_path / "a" / "pyproject.toml", "[tool.other]\nfoldproof = 1\n")  # nothing for us
    assert find(inner).path == tmp_path / "pyproject.toml"
    write(tmp_path / "foldproof.toml", "level = 2\n")
    assert [each.value for each in find(inner).settings] == [2]
    write(inner / "pyproject.toml", "[tool.foldproof]\nlevel = 3\n")
    assert [each.value for each in find(inner).settings] == [3]


def test_without_a_file_there_is_none(tmp_path: Path) -> None:
    # The folder of a test lies in no project.
    assert find(tmp_path) is None


@pytest.mark.parametrize("header", ["", "[tool.foldproof]\n"])
def test_our_own_file_may_have_the_header_of_the_shared_one(tmp_path: Path, header: str) -> None:
    file = read(write(tmp_path / "foldproof.toml", f"{header}skip-rules = ['a']\n"))
    ((setting,)) = file.settings
    assert (setting.key, setting.value) == ("skip_rules", ["a"])
    assert setting.place.line == 1 + bool(header)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("pyproject.toml", "[tool.foldproof\n", "no TOML"),
        ("foldproof.toml", "level = \n", "no TOML"),
        ("foldproof.toml", "a-b = 1\na_b = 2\n", "foldproof.toml:2"),
        ("pyproject.toml", "[tool]\nfoldproof = 1\n", "no table"),
        ("pyproject.toml", "[tool.other]\n", "no table [tool.foldproof]"),
        ("foldproof.toml", "[model]\npath = 'a'\n", "two brackets"),
        ("foldproof.toml", "[[model]]\nlevel = 1\n", "foldproof.toml:1: a section for models has no 'path'"),
        ("foldproof.toml", "[[model]]\npath = 3\n", "foldproof.toml:2"),
        ("foldproof.toml", "[[model]]\npath = '../a.onnx'\n", "leads out of"),
        ("foldproof.toml", "[[model]]\npath = '/a.onnx'\n", "leads out of"),
        ("foldproof.toml", "[[model]]\npath = 'a**.onnx'\n", "is no pattern"),
        ("foldproof.toml", "[[model]]\npath = '[z-a].onnx'\n", "is no pattern"),
        ("foldproof.toml", "model = ['x']\n", "foldproof.toml:1"),
    ],
)
def test_what_makes_no_sense_is_told(tmp_path: Path, name: str, text: str, words: str) -> None:
    path = write(tmp_path / name, text)

    def all_of_it() -> object:
        file = read(path)
        return file.settings, file.sections

    with pytest.raises(UsageError) as caught:
        all_of_it()
    assert words in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("*.onnx", {"a.onnx"}),
        ("./*.onnx", {"a.onnx"}),
        ("m/*.onnx", {"m/b.onnx", "m/c.opt.onnx"}),
        ("m/?.onnx", {"m/b.onnx"}),
        ("m/[!b]*.onnx", {"m/c.opt.onnx"}),
        ("**/*.onnx", {"a.onnx", "m/b.onnx", "m/c.opt.onnx", "m/n/d.onnx"}),
        ("m/**/d.onnx", {"m/n/d.onnx"}),
        ("a+onnx", set()),
        ("[[a].onnx", {"a.onnx"}),
        ("[^b].onnx", set()),
        ("m/[^b].onnx", {"m/b.onnx"}),
    ],
)
def test_a_pattern_means_the_same_for_a_path_and_for_a_folder(tmp_path: Path, pattern: str, matches: set[str]) -> None:
    files = {name: write(tmp_path / name, "") for name in ("a.onnx", "m/b.onnx", "m/c.opt.onnx", "m/n/d.onnx", "x.txt")}
    (section,) = read(write(tmp_path / "foldproof.toml", f"[[model]]\npath = {pattern!r}\n")).sections
    assert {name for name, path in files.items() if section.is_about(path)} == matches
    assert {path.relative_to(tmp_path).as_posix() for path in section.models()} == matches


def test_a_model_goes_by_its_name_where_a_link_stands_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    stored = [write(tmp_path / "store" / name, "") for name in ("8a3f", "b.onnx")]
    (section,) = read(write(folder / "foldproof.toml", "[[model]]\npath = 'm/**/*.onnx'\n")).sections
    (folder / "m").mkdir()
    (folder / "m" / "a.onnx").symlink_to(stored[0])
    (folder / "m" / "more").symlink_to(tmp_path / "store")
    (tmp_path / "alias").symlink_to(folder)
    assert list(section.models()) == [folder / "m" / "a.onnx"]
    for path in (folder / "m" / "a.onnx", folder / "m" / "more" / "b.onnx", tmp_path / "alias" / "m" / "a.onnx"):
        assert section.is_about(path), path
    assert section.is_about(folder / "x" / ".." / "m" / "a.onnx")
    assert not section.is_about(stored[0])


def test_a_model_elsewhere_is_in_no_section(tmp_path: Path) -> None:
    (section,) = read(write(tmp_path / "p" / "foldproof.toml", "[[model]]\npath = '**/*.onnx'\n")).sections
    assert not section.is_about(write(tmp_path / "a.onnx", ""))
