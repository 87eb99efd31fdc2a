"""Which models a batch is about."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from foldproof.batch.folders import Folder, LocalFolder
from foldproof.batch.selection import select
from foldproof.errors import UsageError


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("a.onnx", "vision/b.onnx", "vision/deep/c.ONNX", "text/b.onnx", "text/notes.md", ".hidden/d.onnx"):
        path = tmp_path / "zoo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "zoo" / ".a.onnx.01234567.onnx").touch()  # of a run that goes on
    monkeypatch.chdir(tmp_path)
    return tmp_path / "zoo"


def names(*given: object, target: str = "out") -> list[str]:
    return [each.name for each in select([str(each) for each in given], Folder.of(target))]


def test_a_folder_means_its_models_and_those_below(zoo: Path) -> None:
    assert names(zoo) == ["a.onnx", "text/b.onnx", "vision/b.onnx", "vision/deep/c.ONNX"]
    assert names("zoo") == names(zoo)
    assert names(f"file://{zoo}") == names(zoo)


def test_a_pattern_keeps_the_folders_below_its_first_wildcard(zoo: Path) -> None:
    assert names("zoo/*/b.onnx") == ["text/b.onnx", "vision/b.onnx"]
    assert names("zoo/vision/**/*.[oO]*") == ["b.onnx", "deep/c.ONNX"]
    assert names(zoo / "**" / "b.onnx") == ["text/b.onnx", "vision/b.onnx"]


def test_a_model_whose_name_looks_like_a_pattern(zoo: Path) -> None:
    (zoo / "m[1].onnx").touch()
    assert names(zoo / "m[1].onnx") == ["m[1].onnx"]


def test_a_list_keeps_the_folders_below_its_own(zoo: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "e.onnx").touch()
    (zoo / "list.txt").write_text(f"# mine\n\nvision/b.onnx\ntext\n{tmp_path}/elsewhere/e.onnx\n")
    assert names(zoo / "list.txt") == ["vision/b.onnx", "text/b.onnx", "e.onnx"]
    (zoo / "list.txt").write_text("../elsewhere/e.onnx\n")
    assert names(zoo / "list.txt") == ["e.onnx"]


def test_the_standard_input_is_a_list_seen_from_here(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("zoo/vision/b.onnx\nzoo/a.onnx\n"))
    assert names("-") == ["zoo/vision/b.onnx", "zoo/a.onnx"]


def test_results_below_a_folder_of_models_are_none_of_them(zoo: Path) -> None:
    (zoo / "out").mkdir()
    (zoo / "out" / "a.onnx").touch()
    assert names(zoo, target=str(zoo / "out")) == ["a.onnx", "text/b.onnx", "vision/b.onnx", "vision/deep/c.ONNX"]
    assert names(zoo / "**" / "a.onnx", target=str(zoo / "out")) == ["a.onnx"]


def test_two_results_of_one_name_are_refused(zoo: Path) -> None:
    with pytest.raises(UsageError, match=r"would both be .*b\.onnx"):
        names(zoo / "vision", zoo / "text")
    assert names(zoo / "vision" / "b.onnx", zoo / "vision") == ["b.onnx", "deep/c.ONNX"], "the same one, twice"


@pytest.mark.parametrize("target", ["zoo", "zoo/../zoo", "link"])
def test_a_result_is_never_an_input(zoo: Path, target: str) -> None:
    Path("link").symlink_to("zoo")
    with pytest.raises(UsageError, match="would be the input"):
        names(zoo, target=target)


def test_nor_that_of_another_model(zoo: Path) -> None:
    with pytest.raises(UsageError, match=r"would be the input .*vision/b\.onnx"):
        names(zoo / "vision" / "b.onnx", zoo / "a.onnx", target=str(zoo / "vision"))


@pytest.mark.parametrize("given", ["nothing", "zoo/none/*.onnx", "zoo/text/*.md2", "none.txt"])
def test_what_is_not_there_is_told(zoo: Path, given: str) -> None:
    with pytest.raises(UsageError, match="there is no"):
        names(given)


def test_a_list_of_lists_is_refused(zoo: Path) -> None:
    (zoo / "list.txt").write_text(f"{zoo}/list.txt\n")
    with pytest.raises(UsageError, match="names the list"):
        names(zoo / "list.txt")


def test_a_folder_on_windows_is_no_url() -> None:
    assert isinstance(Folder.of("C:/models"), LocalFolder)
