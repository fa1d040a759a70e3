//! What becomes of edges between devices.

use expect_test::{Expect, expect};

use crate::testing::{UNOPTIMISED, plan_text, print_plan};

fn check_partition(text: &str, fetches: &[&str], targets: &[&str], expected: Expect) {
    let plan = plan_text(text, &[], fetches, targets, &UNOPTIMISED).unwrap();
    expected.assert_eq(&print_plan(&plan));
}

#[test]
fn a_tensor_crosses_once_for_all_consumers_on_a_device() {
    check_partition(
        "a = Split(z) @ps0
         z = Const @ps0
         b = Neg(a:1) @w1
         c = Abs(a:1) @w1
         d = Add(b, c) @w0",
        &["d:0"],
        &[],
        expect![[r#"
            w0:
              d = Add(b/_recv_8e2c523e, c/_recv_d706ad58)
              _send_d_0 = _Retval(d)
              b/_recv_8e2c523e = _Recv
              c/_recv_d706ad58 = _Recv
            w1:
              b = Neg(a/_recv_26dc827d)
              c = Abs(a/_recv_26dc827d)
              a/_recv_26dc827d = _Recv
              b/_send_8e2c523e = _Send(b)
              c/_send_d706ad58 = _Send(c)
            ps0:
              a = Split(z)
              z = Const
              a/_send_26dc827d = _Send(a:1)
        "#]],
    );
}

#[test]
fn a_control_edge_crosses_as_an_empty_tensor() {
    check_partition(
        "a = NoOp @ps0
         b = NoOp(^a) @w1
         c = NoOp(^a, ^b) @w1",
        &[],
        &["c"],
        expect![[r#"
            w1:
              b = NoOp(^a/_signal/_recv_34a60f72)
              c = NoOp(^b, ^a/_signal/_recv_34a60f72)
              a/_signal/_recv_34a60f72 = _Recv
            ps0:
              a = NoOp
              a/_signal = Const(^a)
              a/_signal/_send_34a60f72 = _Send(a/_signal)
        "#]],
    );
}

#[test]
fn a_control_edge_rides_on_a_tensor_that_crosses_anyway() {
    check_partition(
        "a = Const @ps0
         b = Neg(a) @w1
         c = NoOp(^a) @w1
         s = Switch(a, p) @ps0
         p = Const @ps0 {dtype=bool}
         t = Neg(s:1) @w1
         n = NoOp(^s) @w1",
        &[],
        &["b", "c", "t", "n"],
        expect![[r#"
            w1:
              b = Neg(a/_recv_7343f6c4)
              c = NoOp(^a/_recv_7343f6c4)
              t = Neg(s/_recv_fd8a387a)
              n = NoOp(^s/_signal/_recv_902dccc6)
              a/_recv_7343f6c4 = _Recv
              s/_recv_fd8a387a = _Recv
              s/_signal/_recv_902dccc6 = _Recv
            ps0:
              a = Const
              s = Switch(a, p)
              p = Const
              a/_send_7343f6c4 = _Send(a)
              s/_send_fd8a387a = _Send(s:1)
              s/_signal = Const(^s)
              s/_signal/_send_902dccc6 = _Send(s/_signal)
        "#]],
    );
}

const LOOP: &str = "
    i = Const @w0
    limit = Const @ps0
    enter = Enter(i) @w0
    enter_limit = Enter(limit) @ps0 {is_constant=true}
    merge = Merge(enter, next) @w0
    less = Less(merge, enter_limit) @w0
    cond = LoopCond(less) @w0
    switch = Switch(merge, cond) @w0
    exit = Exit(switch) @w0
";

#[test]
fn a_device_without_the_condition_of_a_loop_gets_a_control_loop() {
    check_partition(
        &format!("{LOOP}\nneg = Neg(switch:1) @w1\nnext = NextIteration(neg) @w0"),
        &["exit:0"],
        &[],
        expect![[r#"
            w0:
              i = Const
              enter = Enter(i)
              merge = Merge(enter, next)
              less = Less(merge, enter_limit/_recv_3d175412)
              cond = LoopCond(less)
              switch = Switch(merge, cond)
              exit = Exit(switch)
              next = NextIteration(neg/_recv_394bac46)
              _send_exit_0 = _Retval(exit)
              cond/_send_c7886775 = _Send(cond)
              cond/_send_7de96a0d = _Send(cond)
              loop/_control_loop/const = Const
              loop/_control_loop/enter = Enter(loop/_control_loop/const)
              loop/_control_loop/merge = Merge(loop/_control_loop/enter, loop/_control_loop/nextiteration)
              loop/_control_loop/switch = Switch(loop/_control_loop/merge, cond)
              loop/_control_loop/nextiteration = NextIteration(loop/_control_loop/switch:1)
              enter_limit/_recv_3d175412 = _Recv(^loop/_control_loop/merge)
              switch/_send_20fdabd5 = _Send(switch:1)
              neg/_recv_394bac46 = _Recv(^loop/_control_loop/merge)
            w1:
              neg = Neg(switch/_recv_20fdabd5)
              loop/_control_loop/const = Const
              loop/_control_loop/enter = Enter(loop/_control_loop/const)
              loop/_control_loop/merge = Merge(loop/_control_loop/enter, loop/_control_loop/nextiteration)
              cond/_recv_7de96a0d = _Recv(^loop/_control_loop/merge)
              loop/_control_loop/switch = Switch(loop/_control_loop/merge, cond/_recv_7de96a0d)
              loop/_control_loop/nextiteration = NextIteration(loop/_control_loop/switch:1)
              switch/_recv_20fdabd5 = _Recv(^loop/_control_loop/merge)
              neg/_send_394bac46 = _Send(neg)
            ps0:
              limit = Const
              enter_limit = Enter(limit)
              loop/_control_loop/const = Const
              loop/_control_loop/enter = Enter(loop/_control_loop/const)
              loop/_control_loop/merge = Merge(loop/_control_loop/enter, loop/_control_loop/nextiteration)
              cond/_recv_c7886775 = _Recv(^loop/_control_loop/merge)
              loop/_control_loop/switch = Switch(loop/_control_loop/merge, cond/_recv_c7886775)
              loop/_control_loop/nextiteration = NextIteration(loop/_control_loop/switch:1)
              enter_limit/_send_3d175412 = _Send(enter_limit)
        "#]],
    );
}

#[test]
fn control_loops_nest_with_their_loops() {
    let text = LOOP.replace("@ps0", "@w0");
    check_partition(
        &format!(
            "{text}
             ienter = Enter(switch:1) @w0 {{frame_name=\"inner\"}}
             imerge = Merge(ienter, inext) @w0
             iless = Less(imerge, imerge) @w0
             icond = LoopCond(iless) @w0
             iswitch = Switch(imerge, icond) @w0
             neg = Neg(iswitch:1, ^signal) @w1
             signal = NoOp(^iless) @w0
             inext = NextIteration(neg) @w0
             iexit = Exit(iswitch) @w0
             next = NextIteration(iexit) @w0"
        ),
        &["exit:0"],
        &[],
        expect![[r#"
            w0:
              i = Const
              limit = Const
              enter = Enter(i)
              enter_limit = Enter(limit)
              merge = Merge(enter, next)
              less = Less(merge, enter_limit)
              cond = LoopCond(less)
              switch = Switch(merge, cond)
              exit = Exit(switch)
              ienter = Enter(switch:1)
              imerge = Merge(ienter, inext)
              iless = Less(imerge, imerge)
              icond = LoopCond(iless)
              iswitch = Switch(imerge, icond)
              signal = NoOp(^iless)
              inext = NextIteration(neg/_recv_07a9da1e)
              iexit = Exit(iswitch)
              next = NextIteration(iexit)
              _send_exit_0 = _Retval(exit)
              cond/_send_10061b7c = _Send(cond)
              icond/_send_a1e8b20e = _Send(icond)
              iswitch/_send_8920feca = _Send(iswitch:1)
              loop/_control_loop/const = Const
              loop/_control_loop/enter = Enter(loop/_control_loop/const)
              loop/_control_loop/merge = Merge(loop/_control_loop/enter, loop/_control_loop/nextiteration)
              loop/_control_loop/switch = Switch(loop/_control_loop/merge, cond)
              loop/_control_loop/nextiteration = NextIteration(loop/_control_loop/switch:1)
              inner/_control_loop/const = Const(^loop/_control_loop/merge)
              inner/_control_loop/enter = Enter(inner/_control_loop/const)
              inner/_control_loop/merge = Merge(inner/_control_loop/enter, inner/_control_loop/nextiteration)
              inner/_control_loop/switch = Switch(inner/_control_loop/merge, icond)
              inner/_control_loop/nextiteration = NextIteration(inner/_control_loop/switch:1)
              neg/_recv_07a9da1e = _Recv(^inner/_control_loop/merge)
              signal/_signal = Const(^signal)
              signal/_signal/_send_29806635 = _Send(signal/_signal)
            w1:
              neg = Neg(iswitch/_recv_8920feca, ^signal/_signal/_recv_29806635)
              loop/_control_loop/const = Const
              loop/_control_loop/enter = Enter(loop/_control_loop/const)
              loop/_control_loop/merge = Merge(loop/_control_loop/enter, loop/_control_loop/nextiteration)
              cond/_recv_10061b7c = _Recv(^loop/_control_loop/merge)
              loop/_control_loop/switch = Switch(loop/_control_loop/merge, cond/_recv_10061b7c)
              loop/_control_loop/nextiteration = NextIteration(loop/_control_loop/switch:1)
              inner/_control_loop/const = Const(^loop/_control_loop/merge)
              inner/_control_loop/enter = Enter(inner/_control_loop/const)
              inner/_control_loop/merge = Merge(inner/_control_loop/enter, inner/_control_loop/nextiteration)
              icond/_recv_a1e8b20e = _Recv(^inner/_control_loop/merge)
              inner/_control_loop/switch = Switch(inner/_control_loop/merge, icond/_recv_a1e8b20e)
              inner/_control_loop/nextiteration = NextIteration(inner/_control_loop/switch:1)
              iswitch/_recv_8920feca = _Recv(^inner/_control_loop/merge)
              neg/_send_07a9da1e = _Send(neg)
              signal/_signal/_recv_29806635 = _Recv(^inner/_control_loop/merge)
        "#]],
    );
}

#[test]
fn a_loop_on_one_device_needs_no_help() {
    let text = LOOP.replace("@ps0", "@w0");
    check_partition(
        &format!("{text}\nnext = NextIteration(switch:1) @w0\na = Neg(exit) @w1"),
        &["a:0"],
        &[],
        expect![[r#"
            w0:
              i = Const
              limit = Const
              enter = Enter(i)
              enter_limit = Enter(limit)
              merge = Merge(enter, next)
              less = Less(merge, enter_limit)
              cond = LoopCond(less)
              switch = Switch(merge, cond)
              exit = Exit(switch)
              next = NextIteration(switch:1)
              _send_a_0 = _Retval(a/_recv_d6a106ba)
              exit/_send_c3ef41a9 = _Send(exit)
              a/_recv_d6a106ba = _Recv
            w1:
              a = Neg(exit/_recv_c3ef41a9)
              exit/_recv_c3ef41a9 = _Recv
              a/_send_d6a106ba = _Send(a)
        "#]],
    );
}

#[test]
fn both_ends_of_an_edge_carry_the_same_names() {
    let text = "a = Const @ps1\nb = Neg(a) @w0";
    let plan = plan_text(text, &[], &["b:0"], &[], &UNOPTIMISED).unwrap();
    let ends = plan.partitions.iter().flat_map(|partition| partition.graph.nodes());
    let attrs: Vec<String> = ends
        .filter(|node| matches!(&*node.op, "_Send" | "_Recv"))
        .map(|node| {
            let attrs = node.attrs.iter().map(|(name, value)| format!("{name}: {value}"));
            format!("{}\n", attrs.collect::<Vec<_>>().join("\n"))
        })
        .collect();
    expect![[r#"
        recv_device: "/job:worker/replica:0/task:0/device:CPU:0"
        send_device: "/job:ps/replica:0/task:1/device:CPU:0"
        send_device_incarnation: 4
        tensor_name: "edge_0_a"
        tensor_type: DT_FLOAT

        T: DT_FLOAT
        recv_device: "/job:worker/replica:0/task:0/device:CPU:0"
        send_device: "/job:ps/replica:0/task:1/device:CPU:0"
        send_device_incarnation: 4
        tensor_name: "edge_0_a"
    "#]]
    .assert_eq(&attrs.join("\n"));
}
