//! What the rewrites make of small graphs.

use expect_test::{Expect, expect};

use super::*;
use crate::testing::{SmallArithmetic, ops, parse, print_graph};

/// Optimises a graph whose roots are the nodes named `fetch...`.
fn check(text: &str, expected: Expect) {
    let ops = ops();
    let graph = parse(text, &ops).unwrap();
    let is_root = |node: &Node| node.name.starts_with("fetch");
    let roots = graph.iter().filter(|(_, node)| is_root(node)).map(|(id, _)| id).collect();
    let step = optimise(Step { graph, roots }, &ops, &SmallArithmetic).unwrap();
    expected.assert_eq(&print_graph(&step.graph));
}

#[test]
fn constants_are_computed_once() {
    check(
        "a = Const {value=2}
         b = Const {value=3}
         c = Add(a, b)
         s = Split(c)
         d = Add(c, s:1)
         x = RandomLike(d)
         fetch = Mul(x, d)",
        expect![[r#"
            d = Const {value=7.5}
            x = RandomLike(d)
            fetch = Mul(x, d)
        "#]],
    );
}

#[test]
fn a_folded_node_stays_in_its_branch() {
    check(
        "p = Placeholder {dtype=bool}
         r = RandomLike(a)
         s = Switch(r, p)
         pivot = Identity(s:1)
         a = Const {value=2}
         b = Const(^pivot) {value=3}
         n = NoOp(^pivot)
         c = Add(b, b, ^n)
         fetch = Add(c, s:1)",
        expect![[r#"
            p = Placeholder
            r = RandomLike(a)
            s = Switch(r, p)
            pivot = Identity(s:1)
            a = Const {value=2}
            n = NoOp(^pivot)
            c = Const(^pivot, ^n) {value=6}
            fetch = Add(c, s:1)
        "#]],
    );
}

#[test]
fn what_is_passed_on_to_nobody_is_not_computed() {
    check(
        "c = Const {value=7}
         x = RandomLike(c)
         y = RandomLike(c)
         z = RandomLike(c)
         n = IdentityN(x, y, z) {T=[float float float]}
         fetch = Mul(n:2, n:2)
         fetch_first = Neg(n)",
        expect![[r#"
            c = Const {value=7}
            x = RandomLike(c)
            z = RandomLike(c)
            n = IdentityN(x, z)
            fetch = Mul(n:1, n:1)
            fetch_first = Neg(n)
        "#]],
    );
}

#[test]
fn nodes_that_pass_on_their_input_go() {
    check(
        "one = Const {value=1}
         zero = Const
         c = Const {value=7}
         x = RandomLike(c)
         a = Identity(x)
         b = Mul(one, a)
         d = Sub(b, zero)
         n = IdentityN(d, x) {T=[float float]}
         plus = Add(n:1, zero)
         fetch = Mul(n, plus)
         fetch_done = NoOp(^d)",
        expect![[r#"
            zero = Const
            c = Const {value=7}
            x = RandomLike(c)
            n = IdentityN(x, x)
            plus = Add(n:1, zero)
            fetch = Mul(n, plus)
            fetch_done = NoOp(^x)
        "#]],
    );
}

#[test]
fn identities_that_do_something_stay() {
    check(
        "v = VariableV2 @ps0
         read = Identity(v) @ps0
         assign = Assign(v, read) @ps0
         late = Identity(read, ^assign) @ps0
         cached = Identity(late) @w0
         fetch_1 = Neg(cached) @w1
         fetch_2 = Neg(cached) @w0
         p = Placeholder @w0 {dtype=bool}
         s = Switch(late, p) @w0
         pivot = Identity(s:1) @w0
         fetch_3 = NoOp(^pivot) @w0
         local = Identity(late) @w0
         fetch_4 = Abs(local) @w0",
        expect![[r#"
            v = VariableV2 @ps0
            read = Identity(v) @ps0
            assign = Assign(v, read) @ps0
            late = Identity(read, ^assign) @ps0
            cached = Identity(late) @w0
            fetch_1 = Neg(cached) @w1
            fetch_2 = Neg(cached) @w0
            p = Placeholder @w0
            s = Switch(late, p) @w0
            pivot = Identity(s:1) @w0
            fetch_3 = NoOp(^pivot) @w0
            fetch_4 = Abs(late) @w0
        "#]],
    );
}

#[test]
fn equal_nodes_are_computed_once() {
    check(
        "c = Const {value=7}
         e = Const {value=7}
         x = RandomLike(c)
         y = RandomLike(e)
         a = Neg(x) {_note=1}
         b = Neg(x)
         d = Neg(x) @ps0
         f = Neg(x, ^y)
         g = Mean2(x, y)
         h = Mean2(y, x)
         i = Add(a, b)
         j = Add(b, a)
         k = Add(a, a)
         fetch = IdentityN(d, f, g, h, i, j, k, ^y) {T=[float float float float float float float]}",
        expect![[r#"
            c = Const {value=7}
            x = RandomLike(c)
            y = RandomLike(c)
            a = Neg(x)
            d = Neg(x) @ps0
            f = Neg(x, ^y)
            g = Mean2(x, y)
            k = Add(a, a)
            fetch = IdentityN(d, f, g, g, k, k, k, ^y)
        "#]],
    );
}

#[test]
fn a_product_is_joined_with_its_bias_and_activation() {
    check(
        "c = Const {value=7}
         x = RandomLike(c)
         m = MatMul(x, x, ^n)
         n = NoOp(^x)
         b = BiasAdd(m, x)
         r = Relu(b)
         m2 = MatMul(r, r)
         b2 = BiasAdd(m2, x)
         fetch = Abs(b2)
         m3 = MatMul(fetch, fetch)
         b3 = BiasAdd(m3, m3)
         m4 = MatMul(b3, b3)
         b4 = BiasAdd(m4, x)
         r4 = Relu(b4)
         fetch_2 = Add(b4, r4)
         m5 = MatMul(x, fetch_2)
         b5 = BiasAdd(m5, x, ^m4)
         fetch_3 = Relu(b5)",
        expect![[r#"
            c = Const {value=7}
            x = RandomLike(c)
            n = NoOp(^x)
            r = _FusedMatMul(x, x, x, ^n)
            b2 = _FusedMatMul(r, r, x)
            fetch = Abs(b2)
            m3 = MatMul(fetch, fetch)
            b3 = BiasAdd(m3, m3)
            m4 = MatMul(b3, b3)
            b4 = BiasAdd(m4, x)
            r4 = Relu(b4)
            fetch_2 = Add(b4, r4)
            m5 = MatMul(x, fetch_2)
            b5 = BiasAdd(m5, x, ^m4)
            fetch_3 = Relu(b5)
        "#]],
    );
}

#[test]
fn constants_are_on_every_device_that_uses_them() {
    check(
        "c = Const @ps0 {value=7}
         x = RandomLike(c) @w0
         y = RandomLike(c) @w0
         z = RandomLike(c) @w1
         d = Const(^x) @ps0 {value=8}
         fetch = Add(d, x) @w0
         fetch_2 = Neg(y) @w0
         fetch_3 = Neg(z, ^c) @w1",
        expect![[r#"
            x = RandomLike(c/copy) @w0
            y = RandomLike(c/copy) @w0
            z = RandomLike(c/copy_1) @w1
            d = Const(^x) {value=8} @ps0
            fetch = Add(d, x) @w0
            fetch_2 = Neg(y) @w0
            fetch_3 = Neg(z) @w1
            c/copy = Const {value=7} @w0
            c/copy_1 = Const {value=7} @w1
        "#]],
    );
}

#[test]
fn what_is_only_waited_for_is_not_computed() {
    check(
        "v = VarHandleOp
         r = ReadVariableOp(v)
         x = RandomLike(r)
         a = Mul(r, x)
         left = Mul(a, x)
         right = Mul(a, r)
         chain = Neg(right)
         late = Identity(left, ^all)
         all = NoOp(^left, ^chain)
         fetch = AssignVariableOp(v, late)",
        expect![[r#"
            v = VarHandleOp
            r = ReadVariableOp(v)
            x = RandomLike(r)
            a = Mul(r, x)
            left = Mul(a, x)
            right = NoOp(^r, ^a)
            late = Identity(left, ^all)
            all = NoOp(^left, ^right)
            fetch = AssignVariableOp(v, late)
        "#]],
    );
}

#[test]
fn what_is_waited_for_in_a_branch_keeps_its_side() {
    check(
        "p = Placeholder {dtype=bool}
         c = Const {value=2}
         r = RandomLike(c)
         s = Switch(r, p)
         a = Neg(s:1)
         b = Mul(a, a)
         fetch = NoOp(^b)
         checked = CheckNumerics(r)
         fetch_2 = NoOp(^checked)",
        expect![[r#"
            p = Placeholder
            c = Const {value=2}
            r = RandomLike(c)
            s = Switch(r, p)
            a = Neg(s:1)
            fetch = NoOp(^a)
            checked = CheckNumerics(r)
            fetch_2 = NoOp(^checked)
        "#]],
    );
}

/// Decides the branches of a graph whose roots are the nodes named `fetch...`.
fn check_decision(text: &str, expected: Expect) {
    let ops = ops();
    let graph = parse(text, &ops).unwrap();
    let is_root = |node: &Node| node.name.starts_with("fetch");
    let roots = graph.iter().filter(|(_, node)| is_root(node)).map(|(id, _)| id).collect();
    let step = decide(Step { graph, roots }, &ops, &SmallArithmetic).unwrap();
    expected.assert_eq(&print_graph(&step.graph));
}

/// A branch of version 1 whose condition is `$condition`.
fn branch(condition: &str) -> String {
    format!(
        "x = Placeholder
         p = {condition}
         pivot = Switch(p, p) {{T=bool}}
         yes = Identity(pivot:1) {{T=bool}}
         no = Identity(pivot) {{T=bool}}
         s = Switch(x, p)
         n = Neg(s:1)
         c = Const(^no) {{value=3}}
         m = Merge(c, n)"
    )
}

#[test]
fn a_branch_that_is_never_taken_needs_nothing() {
    check_decision(
        &format!("{}\n fetch = Neg(m)", branch("Const {dtype=bool, value=0}")),
        expect![[r#"
            p = Const
            pivot = Identity(p, ^p)
            no = Identity(pivot)
            c = Const(^no) {value=3}
            m = Identity(c)
            fetch = Neg(m)
        "#]],
    );
    check_decision(
        &format!("{}\n fetch = Neg(m)", branch("Const {dtype=bool, value=1}")),
        expect![[r#"
            x = Placeholder
            p = Const
            s = Identity(x, ^p)
            n = Neg(s)
            m = Identity(n)
            fetch = Neg(m)
        "#]],
    );
}

#[test]
fn a_branch_stays_where_its_merge_is_asked_for() {
    check_decision(
        &branch("Const {dtype=bool, value=0}").replace("m = ", "fetch = "),
        expect![[r#"
            x = Placeholder
            p = Const
            pivot = Identity(p, ^p)
            no = Identity(pivot)
            s = Switch(x, p)
            n = Neg(s:1)
            c = Const(^no) {value=3}
            fetch = Merge(c, n)
        "#]],
    );
}

#[test]
fn a_branch_stays_where_a_loop_is_entered_in_it() {
    check_decision(
        r#"x = Placeholder
         p = Const {dtype=bool}
         s = Switch(x, p)
         e = Enter(s:1) {frame_name="f"}
         lm = Merge(e, next)
         ls = Switch(lm, lc)
         q = Placeholder {dtype=bool}
         qe = Enter(q) {frame_name="f", T=bool}
         lc = LoopCond(qe)
         neg = Neg(ls:1)
         next = NextIteration(neg)
         exit = Exit(ls)
         m = Merge(s, exit)
         fetch = Neg(m)"#,
        expect![[r#"
            x = Placeholder
            p = Const
            s = Switch(x, p)
            e = Enter(s:1)
            lm = Merge(e, next)
            ls = Switch(lm, lc)
            q = Placeholder
            qe = Enter(q)
            lc = LoopCond(qe)
            neg = Neg(ls:1)
            next = NextIteration(neg)
            exit = Exit(ls)
            m = Merge(s, exit)
            fetch = Neg(m)
        "#]],
    );
}

#[test]
fn a_loop_without_turns_hands_on_what_it_was_given() {
    check_decision(
        r#"x = Placeholder
         start = RandomLike(zero)
         zero = Const {value=0}
         limit = Const {value=0}
         ie = Enter(zero) {frame_name="f"}
         im = Merge(ie, inext)
         le = Enter(limit) {frame_name="f"}
         less = Less(im, le)
         lc = LoopCond(less)
         is = Switch(im, lc)
         iadd = Add(is:1, is:1)
         inext = NextIteration(iadd)
         e = Enter(start) {frame_name="f"}
         xe = Enter(x) {frame_name="f"}
         m = Merge(e, next)
         s = Switch(m, lc)
         add = Add(s:1, xe)
         next = NextIteration(add)
         exit = Exit(s)
         fetch = Neg(exit)"#,
        expect![[r#"
            start = RandomLike(zero)
            zero = Const
            exit = Identity(start)
            fetch = Neg(exit)
        "#]],
    );
}
