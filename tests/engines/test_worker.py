from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

from foldproof.engines import (
    Allowance,
    Died,
    EngineError,
    Killed,
    OnnxRuntime,
    OutOfMemory,
    Reference,
    TimedOut,
    Worker,
)
from foldproof.engines import worker as worker_script

ABS = "g (float[N] x) => (float[N] y) { y = Abs (x) }"
DIVIDE = "g (int32[N] x, int32[N] by) => (int32[N] y) { y = Div (x, by) }"
ENDLESS = """g () => (int64 n) <int64 zero = {0}, bool yes = {1}> {
    n = Loop (, yes, zero) <body = step (int64 i, bool go_on, int64 k) => (bool again, int64 next) {
        again = Identity (go_on)
        next = Identity (k)
    }>
}"""
LEAST = {"x": np.array([-(2**31)], np.int32), "by": np.array([-1], np.int32)}


@pytest.fixture
def worker():
    with Worker() as made:
        yield made


def run_abs(engine):
    return engine.run({"x": np.array([-1, 2], np.float32)})[0].tolist()


def test_onnxruntime_is_not_loaded_into_this_process():
    program = """
        import sys
        import onnx
        from foldproof import verify
        model = onnx.parser.parse_model('<ir_version: 9, opset_import: ["" : 17]> ' + {graph!r})
        assert verify(model, model).status == "same"
        assert "onnxruntime" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program.format(graph=ABS))], check=True)


def test_no_process_is_started_before_something_is_to_be_run():
    assert Worker().generation == 0


def test_models_share_a_process(parse, worker):
    engines = [OnnxRuntime(parse(ABS.replace("Abs", name)), worker=worker) for name in ("Abs", "Neg")]
    assert [run_abs(each) for each in engines] == [[1, 2], [1, -2]]
    assert worker.generation == 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere paths are text")
@pytest.mark.parametrize("name", [b"m.onnx", b"\xff.onnx", b"link.onnx"])
@pytest.mark.parametrize("engine", [OnnxRuntime, Reference])
def test_a_path_that_is_not_utf8(engine, name, parse, worker, tmp_path):
    folder = tmp_path / os.fsdecode(b"\xff")
    (folder / "home").mkdir(parents=True)
    model = parse("g (float[2] x) => (float[2] y) <float[2] w = {3, 4}> { y = Add (x, w) }")
    weights = model.graph.initializer[0]
    weights.CopyFrom(numpy_helper.from_array(np.array([3, 4], np.float32), "w"))
    data = weights.raw_data
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="w.data")
    file = path = folder / os.fsdecode(name)
    if name == b"link.onnx":
        file = folder / "home" / "m.onnx"
        path.symlink_to(file)
    file.write_bytes(model.SerializeToString())
    (path.parent / "w.data").write_bytes(data)
    feeds = {"x": np.zeros(2, np.float32)}
    assert engine(path, worker=worker).run(feeds)[0].tolist() == [3, 4]
    assert engine(model, path.parent, worker).run(feeds)[0].tolist() == [3, 4]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere paths are text")
def test_a_path_that_is_not_utf8_and_not_there(worker, tmp_path):
    with pytest.raises(EngineError, match="No such file"):
        OnnxRuntime(tmp_path / os.fsdecode(b"\xff") / "m.onnx", worker=worker)


def test_a_crash_names_the_signal_and_the_next_run_has_another_process(parse, worker):
    """onnxruntime divides by the instruction of the processor, which traps."""
    engine = OnnxRuntime(parse(ABS), worker=worker)
    divide = OnnxRuntime(parse(DIVIDE), worker=worker)
    with pytest.raises(Died, match="SIGFPE"):
        divide.run(LEAST)
    assert run_abs(engine) == [1, 2]
    assert divide.run({"x": np.array([7], np.int32), "by": np.array([2], np.int32)})[0].tolist() == [3]
    assert worker.generation == 2


def test_an_endless_loop_is_stopped_and_the_process_stays(parse, worker):
    engine = OnnxRuntime(parse(ENDLESS), worker=worker)
    with pytest.raises(TimedOut):
        engine.run({}, seconds=0.2)
    with pytest.raises(TimedOut):
        engine.run({}, seconds=0.2)
    assert worker.generation == 1


def test_a_single_node_that_takes_too_long_is_ended(parse, worker):
    """onnxruntime looks at its own limit between nodes only."""
    graph = "g (float[N, N] x) => (float[N, N] y) { y = Einsum <equation = 'ij,jk->ik'> (x, x) }".replace("'", '"')
    engine = OnnxRuntime(parse(graph), worker=worker)
    started = time.monotonic()
    with pytest.raises(TimedOut):
        engine.run({"x": np.ones((12000, 12000), np.float32)}, seconds=0.1)
    assert time.monotonic() - started < 60  # it would take minutes
    assert engine.run({"x": np.ones((2, 2), np.float32)})[0].tolist() == [[2, 2], [2, 2]]
    assert worker.generation == 2


@pytest.mark.skipif(sys.platform != "linux", reason="the limit holds on Linux only")
def test_a_model_that_wants_too_much_memory_fails(parse):
    graph = "g (int64[1] n) => (float[N] y) { y = ConstantOfShape (n) }"
    with Worker(memory=1 << 30) as worker:
        engine = OnnxRuntime(parse(graph), worker=worker)
        with pytest.raises(OutOfMemory, match="alloc"):
            engine.run({"n": np.array([1 << 29])})
        assert engine.run({"n": np.array([1])})[0].tolist() == [0]


@pytest.mark.skipif(sys.platform != "linux", reason="the limit holds on Linux only")
def test_outputs_that_do_not_fit_into_this_process_are_a_lack_of_memory(parse, worker, monkeypatch):
    """Found by the fuzzer: the child may have more memory than its parent. What is left in the pipe has no reader."""
    engine = OnnxRuntime(parse(ABS), worker=worker)
    read = worker_script._read

    def scarce(stream, size):
        if size > 1 << 20:
            raise MemoryError
        return read(stream, size)

    monkeypatch.setattr(worker_script, "_read", scarce)
    with pytest.raises(OutOfMemory, match="does not fit into memory"):
        engine.run({"x": np.zeros(1 << 20, np.float32)})
    assert run_abs(engine) == [1, 2]


def test_what_a_run_may_take_is_the_same_for_each(parse, worker):
    """A session keeps what it took, so that the next run could take as much again."""
    engine = OnnxRuntime(parse("g (int64[1] n) => (float[N] y) { y = ConstantOfShape (n) }"), worker=worker)
    worker.allowance = Allowance(memory=200 << 20, growth=2)
    for _ in range(2):
        with pytest.raises(OutOfMemory):
            engine.run({"n": np.array([1 << 26])})
    assert worker.generation == 2
    assert engine.run({"n": np.array([1])})[0].tolist() == [0]
    copied = OnnxRuntime(parse("g (float[N] x) => (float[N] y) { y = Neg (x) }"), worker=worker)
    assert copied.run({"x": np.ones(1 << 26, np.float32)})[0].size == 1 << 26
    worker.allowance = Allowance()
    assert engine.run({"n": np.array([1 << 26])})[0].size == 1 << 26


def test_what_is_said_to_the_terminal_stays_away(parse, worker, capfd):
    engine = OnnxRuntime(parse(DIVIDE), worker=worker)
    with pytest.raises(Died):
        engine.run(LEAST)
    with pytest.raises(EngineError):
        OnnxRuntime(parse("g (float[2] x) => (float[2] y) { y = Foo (x) }"), worker=worker)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.bool_, np.complex64, np.uint64, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_arrays_go_through_the_pipe_as_they_are(dtype, shape):
    from foldproof.engines import worker

    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    read, write = os.pipe()
    with os.fdopen(read, "rb") as incoming, os.fdopen(write, "wb") as outgoing:
        worker.send(outgoing, ("values", [array, array.T]))
        _, found = worker.receive(incoming)
    for one, other in zip(found, (array, array.T), strict=True):
        assert (one.dtype, one.shape, one.tolist()) == (other.dtype, other.shape, other.tolist())


def test_strings_sequences_and_nothing_go_through(parse, worker):
    graph = "g (seq(string[N]) x, optional(float[N]) o) => (seq(string[N]) y, bool has) {{ {} }}"
    nodes = "y = Identity (x) has = OptionalHasElement (o)"
    engine = OnnxRuntime(parse(graph.format(nodes), opset=18), worker=worker)
    values, has = engine.run({"x": [np.array(["a", "é"], object)], "o": None})
    assert ([each.tolist() for each in values], bool(has)) == ([["a", "é"]], False)


def test_a_shape_alone_is_handed_over_without_the_values(parse, worker):
    engine = OnnxRuntime(parse("g (float[N, M] x) => (float[M, N] y) { y = Transpose (x) }"), worker=worker)
    (found,) = engine.run({"x": np.zeros((2, 3), np.float32)}, shapes_of=["y"])
    assert found.shape == (3, 2)


def test_a_released_model_is_loaded_again_when_it_is_needed(parse, worker):
    engine = OnnxRuntime(parse(ABS), worker=worker)
    engine.release()
    assert run_abs(engine) == [1, 2]


def test_a_closed_worker_ends_its_process_and_starts_another(parse, worker):
    engine = OnnxRuntime(parse(ABS), worker=worker)
    process = worker._process
    worker.close()
    assert process.returncode is not None
    assert run_abs(engine) == [1, 2]


def test_requests_of_several_threads_are_answered_apart(parse, worker):
    engine = OnnxRuntime(parse(ABS), worker=worker)
    wrong = []

    def ask(number):
        for _ in range(20):
            x = np.full(1000, -number, np.float32)
            if not (engine.run({"x": x}, seconds=30)[0] == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=ask, args=[number]) for number in range(1, 5)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_child_that_the_system_kills_ran_out_of_memory(worker, parse, monkeypatch):
    engine = OnnxRuntime(parse(ENDLESS), worker=worker)
    receive = worker_script.receive
    # After the request is sent: one that died before it would be replaced.
    monkeypatch.setattr(worker_script, "receive", lambda stream: (worker._process.kill(), receive(stream))[1])
    with pytest.raises(Killed, match="SIGKILL"):
        engine.run({})


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_the_child_ends_with_its_parent_even_while_a_model_runs(tmp_path):
    program = """
        import sys, onnx
        from foldproof.engines import OnnxRuntime, Worker
        worker = Worker()
        model = onnx.parser.parse_model('<ir_version: 9, opset_import: ["" : 17]> ' + {graph!r})
        engine = OnnxRuntime(model, worker=worker)
        print(worker._process.pid, flush=True)
        engine.run({{}})
    """
    code = textwrap.dedent(program.format(graph=ENDLESS))
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    child = int(parent.stdout.readline())
    time.sleep(0.2)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    for _ in range(100):
        time.sleep(0.05)
        if not _is_running(child):
            return
    os.kill(child, signal.SIGKILL)
    pytest.fail("the child outlives its parent")


def _is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_leaves_a_worker_that_can_be_used(parse, worker):
    engine = OnnxRuntime(parse(ENDLESS), worker=worker)
    other = OnnxRuntime(parse(ABS), worker=worker)
    # Whoever runs the tests in the background has it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.run({})
    finally:
        signal.signal(signal.SIGINT, before)
    assert run_abs(other) == [1, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_has_a_process_of_its_own(parse, worker):
    engine = OnnxRuntime(parse(ABS), worker=worker)
    pid = os.fork()
    if pid == 0:
        right = False
        try:
            right = run_abs(engine) == [1, 2]
            worker.close()
        finally:
            os._exit(0 if right else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert run_abs(engine) == [1, 2]
    assert worker.generation == 1


def test_without_a_python_the_error_says_so(parse, monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(EngineError, match="sys.executable"):
        OnnxRuntime(parse(ABS), worker=Worker())


def test_a_lent_worker_is_used_by_all_that_is_given_none(parse):
    with Worker() as made, made.lent():
        assert Worker.borrowed() is made
        assert run_abs(OnnxRuntime(parse(ABS))) == [1, 2]
        assert run_abs(OnnxRuntime(parse(ABS))) == [1, 2]
        assert made.generation == 1
    assert Worker.borrowed() is not made


def test_closing_does_not_wait_for_a_run_that_never_ends(parse, worker):
    engine = OnnxRuntime(parse(ENDLESS), worker=worker)
    failures = []

    def run():
        try:
            engine.run({}, seconds=300)
        except EngineError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.3)
    start = time.monotonic()
    worker.close()
    thread.join(10)
    assert time.monotonic() - start < 10
    assert not thread.is_alive()
    assert [type(error) for error in failures] == [TimedOut]  # so that no other engine is tried
