from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import foldproof
from foldproof.certificates.certifier import Certifier
from foldproof.certificates.restating import Claims
from foldproof.facts import Facts
from foldproof.folding import Budget, Folder
from foldproof.rewriting import Constant, Forward, Outcome, Rewriter, Rule, rule
from foldproof.rewriting.examples import example_of
from foldproof.rewriting.packs import installed
from tests.certificates.helpers import restated
from tests.helpers import parse

EXAMPLES = [each for each in installed() if each.exact and each.example]


def kinds(claims: Claims) -> list[tuple[str, str]]:
    return [(each.entry.rule, each.kind) for each in claims.entries]


def named(*names: str) -> list[Rule]:
    return [each for each in installed() if each.name in names]


def texts(claims: Claims, number: int = 0) -> list[list[str]]:
    """The operators of both sides of a claim."""
    claim = claims.claims[number]
    models = [onnx.ModelProto.FromString(side) for side in (claim.before, claim.after)]
    return [[node.op_type for node in model.graph.node if node.op_type != "Identity"] for model in models]


@pytest.mark.parametrize("which", EXAMPLES, ids=lambda each: each.name)
def test_the_example_of_each_exact_rule_is_restated(which: Rule) -> None:
    model = example_of(which)
    assert model is not None
    claims, _, _ = restated(model, which)
    refused = [(each.entry.rule, each.reason) for each in claims.entries if each.kind == "not restated"]
    assert refused == []


def test_a_claim_is_as_small_as_can_be() -> None:
    """The dims of x are all that counts, wherever x comes from."""
    model = parse("g (float[2,4] a, float[4,5] w) => (int64 s, float[2,5] x) { x = MatMul(a, w) s = Size(x) }")
    claims, _, _ = restated(model, *named("static_size"))
    assert texts(claims) == [["Size"], []]
    (known,) = claims.claims[0].boundary
    assert known.dims == (2, 5)


def test_as_much_of_the_graph_is_taken_in_as_it_takes() -> None:
    model = parse("g (float[N,4] x) => (float[N,4] y) { a = Neg(x) b = Neg(a) y = Abs(b) }")

    @rule("Neg", exact=True)
    def twice(node: ir.Node, facts: foldproof.facts.Facts) -> Outcome:
        """Neg(Neg(x)) = x."""
        inner = node.inputs[0].producer() if node.inputs[0] is not None else None
        return Forward(inner.inputs[0]) if inner is not None and inner.op_type == "Neg" else None

    claims, _, _ = restated(model, twice)
    assert texts(claims) == [["Neg", "Neg"], []]


def test_equal_rewrites_share_a_claim() -> None:
    model = parse("g (float[2,3] x, float[2,3] y) => (int64 s, int64 t) { s = Size(x) t = Size(y) }")
    claims, _, _ = restated(model, *named("static_size"))
    assert [each.claim for each in claims.entries] == [0, 0]
    assert len(claims.claims) == 1


def test_what_nothing_reads_is_no_claim() -> None:
    model = parse("g (float[2,3] x) => (float[2,3] y) { y = Neg(x) z = Abs(x) }")
    claims, _, _ = restated(model, *named("dead_node"))
    assert kinds(claims) == [("dead_node", "unread")]


def test_a_tolerant_rewrite_is_no_claim() -> None:
    model = parse("g (float[N] x) => (float[N] y) { s = Sigmoid(x) y = Mul(x, s) }", opset=24, ir_version=11)
    claims, _, _ = restated(model, *named("swish"))
    assert kinds(claims) == [("swish", "tolerant")]


def test_large_constants_are_named_and_not_written_out() -> None:
    weight = np.random.default_rng(0).random((64, 32), np.float32)
    model = parse("g (float[N,32] x) => (float[N,64] y) { t = Transpose<perm = [1, 0]>(w) y = MatMul(x, t) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    copy = ir.from_proto(model)
    facts = Facts(copy)
    certifier = Certifier(copy, facts)
    folder = Folder(copy, facts, Budget.of(copy, None, 2))
    rewriter = Rewriter(copy, facts, named("constant_folding"), folder=folder, listeners=[certifier.recorder])
    certifier.restate(rewriter.run(), copy, [])
    (claim,) = certifier.claims.claims
    assert [(each.file, each.dims) for each in claim.stored] == [("input", (64, 32)), ("output", (32, 64))]
    assert len(claim.before) + len(claim.after) < 1000


def test_a_rewrite_that_holds_in_its_branch_alone_is_restated_with_the_branch() -> None:
    claims, _, _ = restated(example_of(named("known_in_branch")[0]), *named("known_in_branch"))  # type: ignore[arg-type]
    assert kinds(claims)[0] == ("known_in_branch", "claim")
    assert texts(claims)[0] == ["If"]


@rule("Relu", exact=True)
def no_relu(node: ir.Node, facts: foldproof.facts.Facts) -> Forward:
    """Relu(x) = x, which is wrong."""
    return Forward(node.inputs[0])


@rule("Size", exact=True, benefit=90)
def frozen_batch(node: ir.Node, facts: foldproof.facts.Facts) -> Outcome:
    """Size(x) = the size at a batch of 1, which is wrong at any other."""
    count = 1
    for dim in facts.shape(node.inputs[0]) or ():
        count *= dim if isinstance(dim, int) else 1
    return Constant(ir.tensor(count, ir.DataType.INT64))


@rule("Add", exact=True)
def plus_zero(node: ir.Node, facts: foldproof.facts.Facts) -> Outcome:
    """X + 0 = x, which is wrong for -0.0."""
    return Forward(node.inputs[0]) if facts.of(node.inputs[1]).fill == 0 else None


@rule("Reshape", exact=True)
def any_reshape(node: ir.Node, facts: foldproof.facts.Facts) -> Forward:
    """Reshape(x, s) = x, which is wrong unless s is the shape of x."""
    return Forward(node.inputs[0])


@pytest.mark.parametrize(
    ("wrong", "body"),
    [
        (no_relu, "g (float[N,3] x) => (float[N,3] y) { a = Neg(x) b = Relu(a) y = Neg(b) }"),
        (frozen_batch, "g (float[N,3] x) => (int64 y) { a = Neg(x) y = Size(a) }"),
        (plus_zero, "g (float[N,3] x) => (float[N,3] y) <float k = {0}> { a = Neg(x) b = Add(a, k) y = Neg(b) }"),
        (any_reshape, "g (float[N,3] x) => (float[3,N] y) { s = Shape(x) i = Constant<value_ints = [1, 0]>() t = Gather(s, i) b = Reshape(x, t) y = Neg(b) }"),
    ],
    ids=lambda each: each.name if isinstance(each, Rule) else "",
)  # fmt: skip
def test_a_wrong_rewrite_is_not_restated(wrong: Rule, body: str) -> None:
    claims, _, _ = restated(parse(body), wrong)
    (entry,) = claims.entries
    assert (entry.kind, claims.claims) == ("not restated", ())
    assert entry.reason.startswith("at ")


def test_a_rule_that_is_wrong_in_general_is_restated_where_it_is_right() -> None:
    claims, _, _ = restated(parse("g (float[N,3] x) => (float[N,3] y) { a = Abs(x) b = Relu(a) y = Neg(b) }"), no_relu)
    assert kinds(claims) == [("no_relu", "claim")]
    assert texts(claims) == [["Abs", "Relu"], ["Abs"]]


def test_what_follows_only_from_the_rewrite_itself_is_not_taken_for_known() -> None:
    """A value inherits the facts of what it replaces: of these a claim must not make use."""

    @rule("Reshape", exact=True)
    def other_shape(node: ir.Node, facts: foldproof.facts.Facts) -> Outcome:
        """Reshape(x, s) = z, which is another tensor."""
        assert node.graph is not None
        return Forward(next(each for each in node.graph.inputs if each.name == "z"))

    model = parse(
        "g (float[N,3] x, float z) => (float y) { s = Constant<value_ints = [0, 3]>() b = Reshape(x, s) y = ReduceMax<keepdims = 0>(b) }"
    )
    claims, _, _ = restated(model, other_shape)
    assert kinds(claims) == [("other_shape", "not restated")]
