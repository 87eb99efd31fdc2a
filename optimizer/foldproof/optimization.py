"""What becomes of a model: its facts are proven and the rules applied, with all that the report tells of that."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.facts.claims import contradiction, correct, disproved
from foldproof.folding import Budget, Folder, constant_folding
from foldproof.graphs import called_functions, count_operators, node_label, operator_name
from foldproof.model_file import Source
from foldproof.options import Options
from foldproof.provenance import Tracker, has_node_metadata
from foldproof.reporting.costs import costs_of
from foldproof.reporting.fates import Watch
from foldproof.reporting.unfolded import unfolded
from foldproof.rewriting import Rewriter, Rule

if TYPE_CHECKING:
    from foldproof.certificates.certifier import Certifier
    from foldproof.profiling import Profiler
    from foldproof.reporting.story import Storyteller
    from foldproof.verification import Progress, Verification


@dataclasses.dataclass(frozen=True)
class Plan:
    """Which rewrites a run does.

    Attributes:
        rules: The rules to apply.
        taken_back: The rewrites to leave out, each by its rule's name and its place.
        stop_after: After how many rewrites it stops; None for all.
        exact: Whether floats must be equal bit for bit; None where the rules that fired decide.
    """

    rules: tuple[Rule, ...]
    taken_back: frozenset[tuple[str, str]] = frozenset()
    stop_after: int | None = None
    exact: bool | None = None


class Optimization:
    """The rewriting of one model.

    Args:
        options: What the person asked for.
        plan: Which rewrites to do.
        source: The model, which is changed.
        record: Whether the certifier keeps all rewrites, tolerant ones too.
        progress: Is told how much of how much was done.

    Attributes:
        facts: What is proven of the model's values.
        rewriter: What does the rewrites: it knows what became of each node, and why the rules did not apply.
        certifier: What keeps the rewrites for a certificate; None where nobody asks for it.
        contradictions: Where the model's declarations turned out wrong.
    """

    def __init__(
        self, options: Options, plan: Plan, source: Source, *, record: bool = False, progress: Progress | None = None
    ) -> None:
        model = source.model
        self._options = options
        self._plan = plan
        self._source = source
        self._progress = progress
        self._nodes_before = count_operators(model)
        self._profiler: Profiler | None = None
        if options.profile:
            from foldproof.profiling import Profiler

            self._profiler = Profiler()
        overridable = overridable_names(model, options)
        self.facts = Facts(model, overridable) if self._profiler is None else self._profiler.facts(model, overridable)
        self._watch = Watch(model, self.facts)
        self._wrong = disproved(model, self.facts)
        self.contradictions = tuple(contradiction(value, self.facts) for value in self._wrong)
        self._costs_before = costs_of(model, self.facts)
        self._storyteller: Storyteller | None = None
        if options.report is not None:
            from foldproof.reporting.story import Storyteller

            self._storyteller = Storyteller(model, self.facts)
        self._folder = self._make_folder(model)
        self.certifier: Certifier | None = None
        if record or options.certificate is not None:
            from foldproof.certificates.certifier import Certifier

            self.certifier = Certifier(model, self.facts, every=record)
        self._tracker = Tracker(model) if options.provenance else None
        self.rewriter = self._make_rewriter(model, overridable)

    def run(self) -> None:
        """Applies the rules: from here on the source's model is the optimized one.

        Raises:
            RuleError: A rule failed at a node.
        """
        model, corrected = self._source.model, self._source.corrected
        called = called_functions(model)
        if self._plan.rules:  # without, the model comes out as it was given; and rules need true declarations
            corrected.extend(correct(self._wrong, model, self.facts))
        self.rewriter.run()
        if self._options.inline_functions:
            for identifier in called - called_functions(model):
                del model.functions[identifier]
        if self._plan.rules:
            corrected.extend(correct(disproved(model, self.facts), model, self.facts))
        if self._tracker is not None:
            self._tracker.record().write(model)

    def _make_rewriter(self, model: ir.Model, overridable: frozenset[str]) -> Rewriter:
        options, plan = self._options, self._plan
        is_old = model.ir_version < 4
        recorder = None if self.certifier is None else self.certifier.recorder
        return Rewriter(
            model,
            self.facts,
            plan.rules if self._profiler is None else self._profiler.rules(plan.rules),
            keep_node=options.keep_node,
            overridable=overridable,
            inputs_list_initializers=is_old,
            initializers_are_inputs=is_old and not options.ir3_initializers_are_constants,
            folder=self._folder,
            stop_after=plan.stop_after,
            taken_back=plan.taken_back,
            listeners=[
                listener
                for listener in (recorder, self._storyteller, self._tracker, self._profiler)
                if listener is not None
            ],
            progress=self._rewrites,
        )

    def _make_folder(self, model: ir.Model) -> Folder | None:
        """What folds constants, None where the person doesn't want that."""
        if all(rule.name != constant_folding.name for rule in self._plan.rules):
            return None
        options = self._options
        budget = Budget.of(model, options.max_growth, options.level)
        folder = Folder if self._profiler is None else self._profiler.folder
        return folder(
            model,
            self.facts,
            budget,
            keep_node=options.keep_node,
            fold_quantized_weights=options.fold_quantized_weights,
        )

    def _rewrites(self, waiting: int, nodes: int) -> None:
        if self._progress is not None:
            done = max(nodes - waiting, 0)
            words = f"optimizing: {done:,} of {nodes:,} nodes, {len(self.rewriter.ledger):,} rewrites"
            self._progress(words, done, nodes)

    # What the report tells -------------------------------------------------------------------------------------------

    def told(self, verification: Verification | None, seconds: dict[str, float]) -> dict[str, Any]:
        """The parts of the report that are about rewriting, by the names that `Report` gives them.

        Args:
            verification: What verification found, if it ran.
            seconds: How long each stage took.
        """
        model = self._source.model
        ledger = tuple(self.rewriter.ledger.entries)
        evaluations = () if verification is None else verification.evaluations
        return {
            "nodes_before": self._nodes_before,
            "nodes_after": count_operators(model),
            "fates": self._watch.fates(self.rewriter.entries, self.rewriter.reasons, evaluations),
            "ledger": ledger,
            "contradictions": self.contradictions,
            "costs_before": self._costs_before,
            "costs_after": costs_of(model, self.facts),
            "unfolded": unfolded(self.rewriter.reasons),
            "profile": None if self._profiler is None else self._profiler.profile(ledger, seconds),
            "story": None if self._storyteller is None else self._storyteller.story(),
        }

    def warnings(self) -> Iterator[str]:
        """What the person should know of it."""
        version = self._source.model.ir_version
        if self._tracker is not None and not has_node_metadata(self._source.model):
            yield (
                f"nodes have no metadata in IR version {version}, so their provenance is in the metadata of the model; "
                "`foldproof explain` reads both"
            )
        yield from map(str, self.facts.problems)
        if self._folder is not None:
            for node, reason in self._folder.failures.items():
                where = f"node {node_label(node)!r} ({operator_name(node)})"
                yield f"{where} is constant, but it can't be computed: {reason}"


def overridable_names(model: ir.Model, options: Options) -> frozenset[str]:
    """The names of the initializers whose value is only a default, because they are graph inputs too."""
    if model.ir_version < 4 and options.ir3_initializers_are_constants:
        return frozenset()
    return frozenset(str(value.name) for value in model.graph.inputs if value.is_initializer())
