"""One run over one model, stage by stage, with all that the report tells of it."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import onnx
import onnx_ir as ir

from foldproof import model_file
from foldproof.dims import bind_dims
from foldproof.engines import EngineError, Worker
from foldproof.engines.checker import checker_complaint
from foldproof.errors import ModelError, UsageError, VerificationError
from foldproof.gc_pause import gc_paused
from foldproof.graphs import all_graphs
from foldproof.model_file import Source, Staged
from foldproof.optimization import Optimization, Plan
from foldproof.options import Options
from foldproof.protos import load_proto, names_for_training
from foldproof.reporting.report import Report, TakenBack, Verdict
from foldproof.rewriting import Rewriter

if TYPE_CHECKING:
    from foldproof.certificates.certifier import Certifier
    from foldproof.measuring import Measured
    from foldproof.verification import Progress, Runnable, Verification, Verifier
    from foldproof.verification.limits import Limits

_WORDS = {
    "optimize": "proving facts",
    "write": "writing",
    "verify": "verifying",
    "restate": "restating the rewrites",
    "measure": "measuring both models",
}


class Run:
    """The state of a run. Its stages are called in their order: `rewrite`, `stage`, `verify`, `commit`.

    Args:
        options: What the person asked for.
        plan: Which rewrites to do.
        source: The model.
        seconds: How long it took to load it.
        progress: Is told what is done next, and how much of how much was done; 0 of 0 where nobody knows.

    Attributes:
        source: The model; after `rewrite`, the optimized one.
        verdict: How verification ended.
        why_unverified: Why nothing could run the model.
        warnings: What the person should know.
        taken_back: What earlier runs of the same model were found guilty of, and this one leaves out.
    """

    def __init__(
        self, options: Options, plan: Plan, source: Source, seconds: float, progress: Progress | None = None
    ) -> None:
        self._progress = progress
        self._options = options
        self._plan = plan
        self._seconds = {"load": seconds}
        self._verification: Verification | None = None
        self._optimized: onnx.ModelProto | None = None
        self._staged: Staged | None = None
        # Now, as later the result may stand in their place.
        self._bytes_before = None if source.path is None else _bytes_of([source.path, *source.data_files])
        self._temporary = contextlib.ExitStack()
        self._measured: Measured | None = None
        self._limits: Limits | None = None
        self.source = source
        self.verdict: Verdict = "not asked"
        self.why_unverified = ""
        self.warnings: list[str] = []
        self.taken_back: tuple[TakenBack, ...] = ()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Removes what was written under temporary names and not committed."""
        self._temporary.close()

    @contextlib.contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        if self._progress is not None:
            self._progress(_WORDS[stage], 0, 0)
        try:
            yield
        finally:
            self._seconds[stage] = self._seconds.get(stage, 0.0) + time.perf_counter() - start

    # The stages ------------------------------------------------------------------------------------------------------

    def bind(self) -> None:
        """Binds the dims that the person binds. What is rewritten later has to do what the model does now.

        Raises:
            UsageError: A dim to be bound is none of the model's, or a node to be kept.
        """
        check_names(self.source.model, self._options.keep_node)
        self.source.redeclared |= bind_dims(self.source.model, self._options.set_dim)

    def original(self, temporary: contextlib.ExitStack) -> Runnable:
        """The model that the result is held to: as it was given, but with the dims that the person bound.

        Args:
            temporary: Removes what has to be written for it.
        """
        source = self.source
        is_text = source.path is not None and source.file is None
        if source.proto is None or source.redeclared or (is_text and source.data_files):
            if source.data_files:
                return self._on_disk("original", temporary)
            return model_file.to_proto(source.model, source)
        return source.file if source.data_files and source.file is not None else source.proto

    def limits_before_loading(self) -> Limits:
        """Whether a runtime may be given the original, and how long it may take to load it."""
        from foldproof.verification.limits import Limits, limits_before_loading

        return Limits() if self._options.trust_model else limits_before_loading(self.source.model)

    def rewrite(self, *, record: bool = False) -> None:
        """Proves facts and applies the rules: from here on `source.model` is the optimized model.

        Args:
            record: Whether the certifier keeps all rewrites, tolerant ones too.

        Raises:
            RuleError: A rule failed at a node.
        """
        with self._timed("optimize"), gc_paused():
            self._optimization = Optimization(
                self._options, self._plan_beside_training(), self.source, record=record, progress=self._progress
            )
            if self._options.verify and not self._options.trust_model:
                from foldproof.verification.limits import limits_of

                self._limits = limits_of(self.source.model, self._optimization.facts)
            self._optimization.run()

    def _plan_beside_training(self) -> Plan:
        """The plan, without rules where training goes on from the model: what is trained is no constant."""
        graph = self.source.model.graph
        names = set() if self.source.proto is None else names_for_training(self.source.proto)
        made = itertools.chain(graph.initializers, (each.name for node in graph for each in node.outputs))
        kept = next((name for name in made if name in names), None) if names else None
        if kept is None or not self._plan.rules:
            return self._plan
        self.warnings.append(f"nothing was rewritten: the training information refers to {kept!r} in the graph")
        return dataclasses.replace(self._plan, rules=())

    @property
    def rewriter(self) -> Rewriter:
        """What did the rewrites: it knows what became of each node, and why the rules did not apply."""
        return self._optimization.rewriter

    @property
    def is_exact(self) -> bool:
        """Whether only exact rules fired."""
        return self.rewriter.ledger.is_exact

    @property
    def optimized_proto(self) -> onnx.ModelProto:
        """The optimized model, serialized once."""
        if self._optimized is None:
            with self._timed("write"), gc_paused():
                self._optimized = model_file.to_proto(self.source.model, self.source)
        return self._optimized

    def stage(self, destination: Path) -> list[Path]:
        """Writes the optimized model under a temporary name, from which `commit` puts it in its place.

        Returns:
            The files that `commit` will write over or take away.

        Raises:
            UsageError: It can't be written there.
        """
        with self._timed("write"), gc_paused():
            self._staged = model_file.stage(self.source.model, self.source, destination, self._options.layout)
        self._temporary.callback(self._staged.discard)
        return self._staged.replaced

    def verify(self, verifier: Verifier | str, runs: Collection[int] | None = None) -> None:
        """Runs the original against the optimized model.

        Args:
            verifier: Has the original; or the reason why there is none.
            runs: The numbers of the only feeds to run.

        Raises:
            VerificationError: They differ.
            ModelError: Nothing can run the original, and it turns out to be invalid.
        """
        from foldproof.verification import Verification, find_probes, find_proven

        with self._timed("verify"):
            limits = self._limits
            reason = verifier if isinstance(verifier, str) else None if limits is None else limits.reason
            if reason is not None or isinstance(verifier, str):
                self._verification = Verification("unverified", reason=reason)
            else:
                runnable = self._runnable_optimized()
                self._verification = verifier.compare(
                    runnable,
                    exact=self.is_exact if self._plan.exact is None else self._plan.exact,
                    evaluate=find_probes(load_proto(runnable)),
                    proven=find_proven(self.source.model, self._optimization.facts),
                    runs=runs,
                    allowance=None if limits is None else limits.allowance,
                )
        if self._verification.status == "different":
            self.verdict = "different"
            first = self._verification.differences[0]
            raise VerificationError(
                f"the optimized model differs from the original: {first.output}: {first.detail}",
                verification=self._verification,
                report=self.report(),
                hint="Nothing was written. This is a fault of a rule: please report it with the model",
            )
        self.verdict = "verified"
        if self._verification.status == "unverified":
            self.verdict = "unverified"
            self.why_unverified = str(self._verification.reason)
            self._refuse_invalid(self._verification.seconds)

    def measure(self, original: Runnable, feed: Callable[[int], Mapping[str, Any]]) -> None:
        """Measures how long both models take, at the largest inputs that verification made up, or the person's own.

        Args:
            original: The original.
            feed: Gives the inputs of a run of verification, by its number.
        """
        from foldproof.measuring import measure, telling

        worker = Worker.borrowed()
        assert worker is not None, "attempts lend one"
        run = telling(() if self._verification is None else self._verification.runs)
        if run is None:
            self.warnings.append("nothing was measured: no run of verification gives inputs for it")
            return
        with self._timed("measure"):
            try:
                optimized = self._runnable_optimized()
                self._measured = measure(original, optimized, feed(run.number), run.binding, worker)
            except EngineError as error:
                self.warnings.append(f"nothing was measured: {error.brief}")

    def restate(self) -> None:
        """Restates what was done as claims, for the certificate. Before `commit`: it may fail."""
        certifier = self._optimization.certifier
        if certifier is not None:
            runs = () if self._verification is None else self._verification.runs
            with self._timed("restate"):
                certifier.restate(self.rewriter.ledger, self.source.model, [run.binding for run in runs])

    @property
    def certifier(self) -> Certifier:
        """What keeps the rewrites."""
        assert self._optimization.certifier is not None, "nobody asked for it"
        return self._optimization.certifier

    def exposing(self, names: Iterable[str]) -> Runnable:
        """The optimized model with more outputs: values of its main graph.

        Raises:
            KeyError: There is no such value.
        """
        graph = self.source.model.graph
        made = {str(value.name): value for node in graph for value in node.outputs}
        given = {str(value.name) for value in (*graph.inputs, *graph.outputs)}
        wanted = [made[name] for name in dict.fromkeys(names) if name not in given]
        graph.outputs.extend(wanted)
        try:
            if self.source.data_files:
                return self._on_disk("exposing", self._temporary)
            return model_file.to_proto(self.source.model, self.source)
        finally:
            for value in wanted:
                graph.outputs.remove(value)

    def certificate(self) -> dict[str, Any]:
        """The certificate of what `commit` wrote, for JSON."""
        assert self._staged is not None, "commit() comes first"
        assert self.source.path is not None, "a model in memory has no digest"
        *data_files, model = self._staged.files
        return self.certifier.certificate(
            self.report(model),
            self._plan.rules,
            self._options,
            read=[self.source.path, *self.source.data_files],
            written=[model, *data_files],
        )

    def write(self, path: Path) -> None:
        """Writes the optimized model, which nobody has verified yet, to a place of ours."""
        model_file.write(self.source.model, self.source, path, is_output=False)

    def write_stream(self, stream: BinaryIO) -> None:
        """Writes the optimized model to a stream.

        Raises:
            UsageError: It needs a data file, or the stream can't be written.
        """
        with self._timed("write"):
            contents = model_file.to_bytes(self.source.model, self.source, self._options.layout)
            try:
                stream.write(contents)
                stream.flush()
            except OSError as error:
                raise UsageError(f"the output can't be written: {error.strerror or error}") from error
            self._bytes_after = len(contents)

    def commit(self) -> None:
        """Puts the staged files in their place.

        Raises:
            UsageError: They can't be written there.
        """
        assert self._staged is not None, "stage() comes first"
        with self._timed("write"):
            self._bytes_after = self._staged.commit()
        for path in self._staged.left:
            self.warnings.append(f"{path} is not needed any more, but another model may use it, so it stays")

    def report(self, output: Path | None = None) -> Report:
        """All that the run has to tell.

        Args:
            output: The file that was written.
        """
        path = self.source.path
        with gc_paused():
            told = self._optimization.told(self._verification, self._seconds)
        return Report(
            verdict=self.verdict,
            input=None if path is None else str(path),
            output=None if output is None else str(output),
            bytes_before=self._bytes_before,
            bytes_after=None if output is None else self._bytes_after,
            verification=self._verification,
            seconds=self._seconds,
            warnings=(*self.warnings, *self._optimization.warnings()),
            taken_back=self.taken_back,
            measured=self._measured,
            **told,
        )

    # What the verification runs --------------------------------------------------------------------------------------

    def _runnable_optimized(self) -> Runnable:
        if self._staged is not None and (self._staged.has_data or self.source.data_files):
            return self._staged.path
        if self.source.data_files and self.source.path is not None:
            return self._on_disk("optimized", self._temporary)
        return self.optimized_proto

    def _on_disk(self, name: str, temporary: contextlib.ExitStack) -> Path:
        """The model in a temporary folder, for a runtime that needs its external data beside it."""
        folder = Path(temporary.enter_context(tempfile.TemporaryDirectory(prefix="foldproof-")))
        path = folder / f"{name}.onnx"
        self.write(path)
        return path

    def _refuse_invalid(self, seconds: float) -> None:
        """Nothing could run the model in so many seconds: says so if that is because it is invalid."""
        if self.source.proto is None or self.source.data_files:
            return
        complaint = checker_complaint(self.source.proto, seconds)
        if complaint is not None:
            told = " ".join(complaint.split())  # of several lines
            raise ModelError(f"the model is invalid: {told}", hint="Nothing can run it. Export the model again")


def check_names(model: ir.Model, names: Iterable[str]) -> None:
    """Refuses names of nodes that the model doesn't have: a typing error would go unnoticed.

    Raises:
        UsageError: There is no node of such a name.
    """
    missing = set(names)
    if missing:
        missing -= {node.name or "" for graph in all_graphs(model) for node in graph}
    for name in sorted(missing):
        raise UsageError(f"there is no node {name!r} to keep", hint="Node names are not the names of their outputs")


def _bytes_of(paths: Sequence[Path]) -> int:
    """The size of the files that are there, in bytes."""
    return sum(path.stat().st_size for path in paths if path.exists())
