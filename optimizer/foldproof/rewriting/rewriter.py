"""The worklist: each node is offered to the rules of its operator, until none has anything to do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import onnx_ir as ir

from foldproof.errors import FoldproofError, RuleError
from foldproof.facts import Facts
from foldproof.facts.description import path_of
from foldproof.facts.dim import TooComplexError
from foldproof.graphs import all_graphs, annotated_names, node_label, operator_name
from foldproof.rewriting.conformance import complaint, excuse, malformation
from foldproof.rewriting.constants import Constants
from foldproof.rewriting.description import node_text, place_of
from foldproof.rewriting.editor import Editor
from foldproof.rewriting.ledger import Entry, Ledger
from foldproof.rewriting.listener import Listener
from foldproof.rewriting.names import Names
from foldproof.rewriting.rule import ANY, Action, Forward, Outcome, Reason, Remove, Replace, Rule
from foldproof.rewriting.shadowing import clashes, unhide
from foldproof.rewriting.worklist import Worklist

if TYPE_CHECKING:
    from foldproof.folding import Folder

# Progress is told after each so many nodes.
_TELLS = 32

FUEL_PER_NODE = 100
"""Rewrites per node of the given model, after which a set of rules is taken to undo each other for ever."""


class Rewriter:
    """Rewrites a model in place.

    Args:
        model: The model.
        facts: What is proven of its values.
        rules: The rules, in the order in which they are tried.
        keep_node: Names of nodes that no rule may take away or change.
        overridable: Names of the initializers whose value is only a default.
        inputs_list_initializers: Whether a new initializer must be listed as an input too (IR version 3).
        initializers_are_inputs: Whether what is listed so counts as an input, so that no initializer can be added.
        folder: Computes what is constant, before the rules start and whenever none of them has anything to do.
        stop_after: How many rewrites are done at most: a prefix of the ledger of the whole run.
        taken_back: The rewrites that are not to be done, each by its rule's name and its place.
        listeners: Who is told of each change of the graph.
        progress: Is told from time to time how many nodes are waiting, and how many there were.

    Attributes:
        ledger: What was done.
        entries: For each node that a rule took away, the ledger's entry.
        reasons: For each node that is left, why the rules of its operator did not apply, by rule name.
    """

    def __init__(
        self,
        model: ir.Model,
        facts: Facts,
        rules: Iterable[Rule],
        *,
        keep_node: Iterable[str] = (),
        overridable: frozenset[str] = frozenset(),
        inputs_list_initializers: bool = False,
        initializers_are_inputs: bool = False,
        folder: Folder | None = None,
        stop_after: int | None = None,
        taken_back: Collection[tuple[str, str]] = (),
        listeners: Iterable[Listener] = (),
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._model = model
        self._facts = facts
        self._rules = sorted(rules, key=lambda rule: -rule.benefit)
        self._rules_of: dict[tuple[str, str, int, frozenset[str]], list[Rule]] = {}
        self._rules_by_operator = _by_operator(self._rules)
        self._worklist = Worklist(facts)
        self._names = names = Names(model)
        constants = Constants(
            model,
            names,
            overridable,
            inputs_list_initializers=inputs_list_initializers,
            initializers_are_inputs=initializers_are_inputs,
        )
        self._listeners = tuple(listeners)
        self._progress = progress
        self._editor = Editor(facts, names, constants, self._worklist, frozenset(keep_node), self._listeners)
        self._stop_after = stop_after
        self._taken_back = frozenset(taken_back)
        self._folder = folder
        self._settled: list[ir.Node] = []
        self._fuel = 0
        self._may_be_annotated = True
        self._cleaned_after = -1
        self._malformed: dict[ir.Node, Reason | None] = {}
        self.ledger = Ledger()
        self.entries: dict[ir.Node, Entry] = {}
        self.reasons: dict[ir.Node, dict[str, Reason]] = {}

    def run(self) -> Ledger:
        """Applies the rules until none applies.

        Returns:
            The ledger.

        Raises:
            RuleError: A rule failed at a node, or the rules go on for ever.
        """
        before = frozenset(clashes(self._model))
        self._clean_initializers()
        nodes = [node for graph in all_graphs(self._model) for node in graph]
        self._settled.extend(nodes)
        self._fold()  # first, so that no rule changes how a constant is rounded
        self._fuel = FUEL_PER_NODE * (len(nodes) + 1)
        self._sweep(nodes)
        goes_on = True
        while goes_on and not self._is_over():
            # A rewrite queues what it touches. What else it may enable far away, another round finds.
            rewrites = len(self.ledger)
            self._worklist.push(node for graph in all_graphs(self._model) for node in graph)
            self._drain()
            goes_on = len(self.ledger) > rewrites
            goes_on = self._clean_initializers() or goes_on
        if self.ledger.entries:
            unhide(self._model, self._names, before)
        return self.ledger

    def _sweep(self, nodes: Sequence[ir.Node]) -> None:
        """Offers nodes to the early rules, those that read before those that are read: so what dies is seen at once."""
        for node in reversed(nodes):
            while node.graph is not None and self._rewrite(node, is_early=True):
                self._spend(node)
        self._worklist.clear()  # what follows is offered to all rules

    def _drain(self) -> None:
        """Offers each queued node to the rules until the queue is empty."""
        nodes = len(self._worklist)
        while self._worklist and not self._is_over():
            if self._progress is not None and (nodes - len(self._worklist)) % _TELLS == 0:
                self._progress(len(self._worklist), nodes)
            node = self._worklist.pop()
            while node.graph is not None and self._rewrite(node):
                self._spend(node)
            self._settled.append(node)
            if not self._worklist:
                self._fold()

    def _spend(self, node: ir.Node) -> None:
        """Counts a rewrite at a node."""
        self._fuel -= 1
        if self._fuel < 0:
            raise RuleError(
                f"the rules go on for ever, the last one was {self.ledger.entries[-1].rule!r}",
                node=node_label(node),
                operator=operator_name(node),
                hint="Leave that rule out with --skip-rules, and report it",
            )

    def _is_over(self) -> bool:
        """Whether the person wants no further rewrite."""
        return self._stop_after is not None and len(self.ledger) >= self._stop_after

    # Asking the rules ------------------------------------------------------------------------------------------------

    def _rules_at(self, node: ir.Node) -> list[Rule]:
        """The rules of a node's operator in its opset, and of those that make its inputs, the most beneficial first."""
        makers = [value.producer() for value in node.inputs if value is not None]
        made_by = frozenset([maker.op_type for maker in makers if maker is not None])
        key = node.domain, node.op_type, self._facts.opset_version(node), made_by
        rules = self._rules_of.get(key)
        if rules is None:
            candidates = self._rules_by_operator.get(node.op_type) or self._rules_by_operator[ANY]
            rules = self._rules_of[key] = [
                rule for rule in candidates if rule.is_for(*key[:3]) and rule.is_after(made_by)
            ]
        return rules

    def _rewrite(self, node: ir.Node, is_early: bool = False) -> bool:
        """Applies the first rule, or early rule, that applies at a node; whether one did."""
        if self._editor.is_kept(node):
            return False
        if node not in self._malformed:
            self._malformed[node] = malformation(node, self._facts)
        malformed = self._malformed[node]
        if malformed is not None:
            self.reasons[node] = {"validity": malformed}
            return False
        for rule in self._rules_at(node):
            if is_early and not rule.early:
                continue
            outcome = self._ask(rule, node, node)
            if outcome is None:
                continue
            if not isinstance(outcome, Reason):
                refusal = None if isinstance(outcome, Remove) else complaint(node, self._facts)
                refusal = refusal or self._apply(rule, node, outcome)
                if refusal is None:
                    return True
                outcome = refusal
            self.reasons.setdefault(node, {})[rule.name] = outcome
        return False

    def _ask(self, rule: Rule, subject: ir.Node | ir.Value, node: ir.Node | None) -> Outcome:
        try:
            return rule.apply(subject, self._facts)
        except FoldproofError:
            raise
        except (TooComplexError, OverflowError) as error:  # such as a dim that no int64 holds
            return Reason("{}", error)
        except Exception as error:
            excuse_found = None if node is None else excuse(node, self._facts)
            if excuse_found is None:
                raise _failure(rule, subject, node, error) from error
            return excuse_found

    def _fold(self) -> None:
        """Lets the folder compute what has become constant. What reads it is queued."""
        nodes = [node for node in self._settled if node.graph is not None]
        self._settled.clear()
        if self._folder is None:
            return
        rule = self._folder.rule
        for node, found in self._folder.fold(nodes):
            reason = found if isinstance(found, Reason) else self._apply(rule, node, found)
            if reason is not None:
                self.reasons.setdefault(node, {})[rule.name] = reason

    # Doing what they say ---------------------------------------------------------------------------------------------

    def _apply(self, rule: Rule, node: ir.Node, action: Action) -> Reason | None:
        """Carries out an action at a node, and writes it down; the reason why not, where it can't be done."""
        assert node.graph is not None
        gone = (node, *(action.gone_too if isinstance(action, Replace) else ()))
        place, graph, removed = place_of(node), path_of(node.graph, self._facts), tuple(map(node_text, gone))
        refusal = self._refusal(rule, place)
        if refusal is not None:
            return refusal
        try:
            change = self._editor.apply(node, action)
        except FoldproofError:
            raise
        except Exception as error:  # what the rule builds fails
            raise _failure(rule, node, node, error) from error
        if isinstance(change, Reason):
            return change
        entry = self.ledger.add(rule.name, rule.exact, place, graph, removed, change.added, change.because)
        for each in gone:
            self.entries[each] = entry
            self.reasons.pop(each, None)
        self._tell(entry)
        return None

    def _refusal(self, rule: Rule, place: str) -> Reason | None:
        """Why a rewrite is not to be done in this run, whatever the rule says."""
        if self._is_over():
            return Reason("the run stops after {} rewrites", self._stop_after)
        if (rule.name, place) in self._taken_back:
            return Reason("this rewrite was taken back")
        return None

    def _clean_initializers(self) -> bool:
        """Offers each initializer to its rules; whether nodes read others now, so that rules may apply there."""
        if self._cleaned_after == len(self.ledger):  # nothing was rewritten since
            return False
        self._cleaned_after = len(self.ledger)
        forwarded = False
        rules = [rule for rule in self._rules if rule.of_initializers]
        annotated = annotated_names(self._model) if rules and self._may_be_annotated else set()
        self._may_be_annotated = bool(annotated)  # no rewrite annotates anything
        for graph in all_graphs(self._model):
            for value in [each for each in graph.initializers.values() if each.name not in annotated]:
                for rule in rules:
                    outcome = self._ask(rule, value, None)
                    if isinstance(outcome, (Remove, Forward)):
                        if not self._remove_initializer(rule, value, graph, outcome):
                            continue
                        forwarded = forwarded or isinstance(outcome, Forward)
                        break
        return forwarded

    def _remove_initializer(self, rule: Rule, value: ir.Value, graph: ir.Graph, outcome: Remove | Forward) -> bool:
        """Takes an initializer away; what reads it reads the one that it is forwarded to. Whether it is to be done."""
        name = str(value.name)
        if self._refusal(rule, name) is not None:
            return False
        other = outcome.values[0] if isinstance(outcome, Forward) else None
        added = () if other is None else (f"initializer {other.name}",)
        self._editor.remove_initializer(value, graph, other)
        self._tell(
            self.ledger.add(rule.name, rule.exact, name, path_of(graph, self._facts), (f"initializer {name}",), added)
        )
        return True

    def _tell(self, entry: Entry) -> None:
        for listener in self._listeners:
            listener.written(entry)


def _by_operator(rules: Sequence[Rule]) -> dict[str, list[Rule]]:
    """The rules that may be for an operator of a name, with those that are for any, in their order."""
    names = {ANY, *(name for rule in rules for name in rule.op_types)}
    found: dict[str, list[Rule]] = {name: [] for name in names}
    for rule in rules:
        for name in names if ANY in rule.op_types else rule.op_types:
            found[name].append(rule)
    return found


def _failure(rule: Rule, subject: ir.Node | ir.Value, node: ir.Node | None, error: Exception) -> RuleError:
    return RuleError(
        f"the rule {rule.name!r} failed with {type(error).__name__}: {error}",
        node=subject.name if node is None else node_label(node),
        operator="initializer" if node is None else operator_name(node),
        hint=f"Go on with --skip-rules {rule.name}, and report it",
    )
