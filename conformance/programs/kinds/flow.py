"""What hands values on from step to step beside queues: accumulators, staging areas, stacks."""

import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.ops import data_flow_ops

from conformance.programs.kinds import Kind, kind
from conformance.programs.program import Type
from conformance.programs.scope import FLOATS, Resource


def _own(scope, name, type, params):
    """Adds a statement that makes a resource."""
    statement = scope.add(name, [], params={**params, "type": list(type)})
    statement.control, statement.colocate = [], None
    scope.local.pop()
    scope.resources.append(Resource(statement.id, name, type))


@kind(weight=1, inside=("top",))
class accumulator(Kind):
    def draw(scope):
        how = scope.chance.choice(["MEAN", "SUM"])
        _own(scope, "accumulator", Type(scope.dtype(FLOATS), scope.shape()), {"reduction": how})

    def build(builder, statement, args):
        dtype, shape = statement.params["type"]
        made = v1.ConditionalAccumulator(
            dtype,
            shape,
            shared_name=f"{builder.prefix}_accumulator_{statement.id}",
            reduction_type=statement.params["reduction"],
        )
        builder.resources[statement.id] = made
        return made.accumulator_ref.op


@kind(weight=2, inside=("top",))
class accumulate(Kind):
    def draw(scope):
        if of := scope.resource("accumulator"):
            scope.add("accumulate", [], [scope.value(of.type)], {"of": of.id}, [of])
            of.count += 1

    def build(builder, statement, args):
        of = builder.resources[statement.params["of"]]
        return of.apply_grad(args[0], local_step=tf.constant(1000, tf.int64))


@kind(weight=1.5, inside=("top",))
class take_accumulated(Kind):
    """As many have come before, in every step that comes here."""

    def draw(scope):
        of = scope.resource("accumulator")
        if of is not None and of.count:
            params = {"of": of.id, "count": of.count}
            of.count = 0
            scope.add("take_accumulated", [of.type], [], params, [of], exact=False)

    def build(builder, statement, args):
        of = builder.resources[statement.params["of"]]
        return [of.take_grad(statement.params["count"])]


@kind(weight=1, inside=("top",))
class staging_area(Kind):
    def draw(scope):
        _own(scope, "staging_area", scope.type(), {})

    def build(builder, statement, args):
        dtype, shape = statement.params["type"]
        with v1.colocate_with(None, ignore_existing=True):
            made = data_flow_ops.StagingArea(
                [dtype], [shape], shared_name=f"{builder.prefix}_area_{statement.id}"
            )
        builder.resources[statement.id] = made
        return tf.no_op()


@kind(weight=2, inside=("top",))
class stage(Kind):
    def draw(scope):
        if of := scope.resource("staging_area"):
            scope.add("stage", [], [scope.value(of.type)], {"of": of.id}, [of])
            of.count += 1

    def build(builder, statement, args):
        of = builder.resources[statement.params["of"]]
        return of.put([tf.reshape(args[0], of.shapes[0])])


@kind(weight=1.5, inside=("top",))
class unstage(Kind):
    def draw(scope):
        of = scope.resource("staging_area")
        if of is not None and of.count:
            of.count -= 1
            results = [of.type, Type("int32", ())]
            scope.add("unstage", results, [], {"of": of.id}, [of], exact=False)

    def build(builder, statement, args):
        of = builder.resources[statement.params["of"]]
        got = of.get()
        got = got[0] if isinstance(got, (list, tuple)) else got
        with tf.control_dependencies([got]):
            return [got, of.size()]


@kind(weight=1)
class stack(Kind):
    """Values on a stack of this step, taken off in the other order."""

    def draw(scope):
        type = scope.type()
        scope.add("stack", [type, type], [scope.value(type), scope.value(type)])

    def build(builder, statement, args):
        (type, _) = statement.results
        ops = tf.raw_ops
        made = ops.StackV2(max_size=4, elem_type=type.dtype)
        first = ops.StackPushV2(handle=made, elem=args[0])
        with tf.control_dependencies([first]):
            second = ops.StackPushV2(handle=made, elem=args[1])
        with tf.control_dependencies([second]):
            last = ops.StackPopV2(handle=made, elem_type=type.dtype)
        with tf.control_dependencies([last]):
            return [last, ops.StackPopV2(handle=made, elem_type=type.dtype)]
