"""Foldproof does without sympy, and whoever else wants it has it."""

import subprocess
import sys
from pathlib import Path

import pytest

MODELS = Path(__file__).parent.parent / "models"

PROGRAM = """
import sys
import foldproof

path, out = sys.argv[1:]
foldproof.optimize_file(path, out, verify=False)
assert "sympy" not in sys.modules, "a run without verification has imported sympy"

import onnx_ir as ir

total = ir.SymbolicDim("batch") + 1  # that is arithmetic, which onnx_ir leaves to sympy
assert str(total.value) == "batch + 1", total
assert total.evaluate({"batch": 4}) == 5
assert ir.SymbolicDim("max(batch, 3)").evaluate({"batch": 2}) == 3  # a function that onnx_ir named when it was imported

import sympy
import sympy.core.symbol

assert sympy is sys.modules["sympy"] and type(sympy).__name__ == "module"
assert sympy.Symbol is sympy.core.symbol.Symbol
assert ir.SymbolicDim(sympy.Symbol("n")).value == "n"
"""


def run(program: str, *arguments: str) -> None:
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_run_without_verification_does_not_import_sympy_which_still_works_afterwards(tmp_path: Path) -> None:
    run(PROGRAM, str(MODELS / "mean_pooling.onnx"), str(tmp_path / "out.onnx"))


def test_an_onnx_ir_that_asks_for_more_of_sympy_gets_sympy(tmp_path: Path) -> None:
    (tmp_path / "onnx_ir.py").write_text("import sympy\nclass Dim(sympy.Symbol):\n    pass\n")
    run(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import foldproof.lazy_sympy\n"
        "import onnx_ir, sympy\n"
        "assert issubclass(onnx_ir.Dim, sympy.Symbol) and str(onnx_ir.Dim('n')) == 'n'\n"
    )


@pytest.mark.parametrize("arguments", ["explain m", "diff m m", "bisect m", "rules dead_node", "gate m", "config"])
def test_no_command_imports_sympy_or_onnxruntime(arguments: str) -> None:
    words = [str(MODELS / "mean_pooling.onnx") if each == "m" else each for each in arguments.split()]
    run(
        "import sys\n"
        "from foldproof.cli import main\n"
        "try:\n"
        "    main(sys.argv[1:], standalone_mode=False)\n"
        "except SystemExit:\n"  # it has found something
        "    pass\n"
        "found = {'sympy', 'onnxruntime'} & set(sys.modules)\n"
        "assert not found, found\n",
        *words,
    )
