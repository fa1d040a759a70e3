//! What becomes of calls, branches and loops.

use expect_test::{Expect, expect};

use super::*;
use crate::testing::{ops, parse, print_graph};

type Pass = fn(Step, &Arc<Registry>, &Options) -> Result<(Step, bool)>;

/// Lowers a graph whose roots are the nodes named `fetch...`.
fn check_pass(pass: Pass, text: &str, options: &Options, expected: Expect) {
    let ops = ops();
    let graph = parse(text, &ops).unwrap();
    let is_root = |(_, node): &(NodeId, &Node)| node.name.starts_with("fetch");
    let roots = graph.iter().filter(is_root).map(|(id, _)| id).collect();
    let text = match pass(Step { graph, roots }, &ops, options) {
        Ok((step, _)) => {
            step.graph.validate().unwrap();
            print_graph(&step.graph)
        }
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&text);
}

fn check_with(text: &str, options: &Options, expected: Expect) {
    check_pass(lower, text, options, expected);
}

fn lower_all(step: Step, ops: &Arc<Registry>, options: &Options) -> Result<(Step, bool)> {
    let (step, had_control_flow) = lower_control_flow(step, ops, options)?;
    let (step, had_calls) = lower_calls(step, ops, options)?;
    Ok((step, had_control_flow || had_calls))
}

/// Lowers the graph of a session's step.
fn check_step(text: &str, expected: Expect) {
    check_pass(lower_all, text, &Options::default(), expected);
}

fn check(text: &str, expected: Expect) {
    check_with(text, &Options::default(), expected);
}

#[test]
fn a_call_becomes_its_body() {
    check(
        "fn f(x: float, y: float) -> (a: float = sum:z:0, b: float = x) {
           two = Const
           unused = Neg(two:output:0)
           twice = Mul(x, two:output:0) @/job:ps
           sum = Add(twice:z, y) {_class=[loc:@twice loc:@outside]}
         }
         p = Const
         q = Const
         c = PartitionedCall(p, q) @/task:1 {f=&f, Tin=[float float], Tout=[float float]}
         fetch = Add(c, c:1)",
        expect![[r#"
            p = Const
            q = Const
            fetch = Add(c/sum, p)
            c/two = Const @/task:1
            c/twice = Mul(p, c/two) @/job:ps/task:1
            c/sum = Add(c/twice, q) @/task:1
        "#]],
    );
}

#[test]
fn a_call_that_is_fetched_computes_all_its_results() {
    check(
        "fn f(x: float, y: float) -> (a: float = twice:z:0, b: float = y) {
           twice = Mul(x, x)
         }
         p = Const
         q = Const
         c = PartitionedCall(p, q) {f=&f, Tin=[float float], Tout=[float float], _is_end=true}
         fetch = Identity(c)",
        expect![[r#"
            p = Const
            q = Const
            fetch = Identity(c/outputs)
            c/twice = Mul(p, p)
            c/outputs = IdentityN(c/twice, q)
        "#]],
    );
}

#[test]
fn a_body_waits_for_what_its_call_waits_for_and_effects_happen() {
    check(
        "fn f(h: resource) -> (a: float = one:output:0) ^write {
           one = Const
           write = AssignVariableOp(h, one:output:0)
         }
         h = VarHandleOp
         before = NoOp
         c = StatefulPartitionedCall(h, ^before) {f=&f, Tin=[resource], Tout=[float]}
         d = f(h) @ps0
         fetch_value = Identity(d)
         fetch = NoOp(^c)",
        expect![[r#"
            h = VarHandleOp
            before = NoOp
            fetch_value = Identity(d/one)
            fetch = NoOp(^c/output_control_node)
            c/input = Identity(h, ^before)
            c/one = Const(^before)
            c/write = AssignVariableOp(c/input, c/one)
            c/output_control_node = NoOp(^c/write)
            d/one = Const @ps0
            d/write = AssignVariableOp(h, d/one) @ps0
        "#]],
    );
}

#[test]
fn an_argument_passed_through_two_calls_is_waited_for() {
    check(
        "fn id(x: float) -> (y: float = x) {
         }
         a = Const
         b = id(a)
         c = id(b)
         fetch = NoOp(^c)",
        expect![[r#"
            a = Const
            fetch = NoOp(^c/output_control_node)
            c/output_control_node = NoOp(^a)
        "#]],
    );
}

#[test]
fn recursion_and_functions_that_ask_for_it_stay_calls() {
    let text = "fn f(x: float) -> (y: float = g:y:0) {
           n = Neg(x)
           g = g(n:y:0)
         }
         fn g(x: float) -> (y: float = f:y:0) {
           f = f(x)
         }
         a = Const
         fetch = f(a)
         fetch_call = PartitionedCall(a) {f=&f, Tin=[float], Tout=[float], _noinline=true}";
    check(
        text,
        expect![[r#"
            a = Const
            fetch_call = PartitionedCall(a)
            fetch/n = Neg(a)
            fetch/output_control_node = NoOp(^fetch/g/output_control_node)
            fetch/g/f = PartitionedCall(fetch/n)
            fetch/g/output_control_node = NoOp(^fetch/g/f)
        "#]],
    );
    let options = Options { inline_functions: false, ..Options::default() };
    check_with(
        text,
        &options,
        expect![[r#"
            a = Const
            fetch = PartitionedCall(a)
            fetch_call = PartitionedCall(a)
        "#]],
    );
}

#[test]
fn bodies_that_do_not_exist_or_fit_are_refused() {
    let call = |f: &str| format!("fn f(x: float) -> (y: float = x) {{\n}}\na = Const\nfetch = {f}");
    check(
        &call("PartitionedCall(a) {f=&g, Tin=[float], Tout=[float]}"),
        expect!["NOT_FOUND: Function g is not defined."],
    );
    check(
        &call("PartitionedCall(a, a) {f=&f, Tin=[float float], Tout=[float]}"),
        expect![[r#"
            INVALID_ARGUMENT: function f has the arguments (float), but the call has (float, float)
            	 [[{{node fetch}}]]"#]],
    );
    check(
        "fn f(x: float) -> (y: float = n:y:0) {
           n = Neg(gone:y:0)
         }
         a = Const
         fetch = f(a)",
        expect![[r#"
            INVALID_ARGUMENT: while instantiating function f: input gone:y:0 is not found
            	 [[{{node n}}]]"#]],
    );
}

const IF: &str = "
    fn yes(x: float, h: resource) -> (r: float = n:y:0, s: float = x) ^write {
      c = Const
      n = Neg(x)
      write = AssignVariableOp(h, c:output:0)
    }
    fn no(x: float, h: resource) -> (r: float = c:output:0, s: float = x) {
      c = Const
    }
    p = Const {dtype=bool}
    x = Const @ps0
    h = VarHandleOp @ps1
";

#[test]
fn a_branch_runs_between_switches_and_merges() {
    check(
        &format!(
            "{IF}
             i = If(p, x, h) {{then_branch=&yes, else_branch=&no, Tin=[float resource], \
             Tout=[float float], _lower_using_switch_merge=true}}
             fetch = Add(i, i:1)"
        ),
        expect![[r#"
            p = Const
            x = Const @ps0
            h = VarHandleOp @ps1
            fetch = Add(i/merge_0, i/merge_1)
            i/pivot_switch = Switch(p, p)
            i/switch_0 = Switch(x, p) @ps0
            i/switch_1 = Switch(h, p) @ps1
            i/pivot_else = Identity(i/pivot_switch)
            i/else/c = Const(^i/pivot_else)
            i/pivot_then = Identity(i/pivot_switch:1)
            i/then/c = Const(^i/pivot_then)
            i/then/n = Neg(i/switch_0:1)
            i/then/write = AssignVariableOp(i/switch_1:1, i/then/c)
            i/merge_0 = Merge(i/else/c, i/then/n)
            i/merge_1 = Merge(i/switch_0, i/switch_0:1)
        "#]],
    );
}

#[test]
fn who_waits_for_a_branch_waits_for_the_one_that_runs() {
    check(
        &format!(
            "{IF}
             before = NoOp
             i = If(p, x, h, ^before) {{then_branch=&yes, else_branch=&no, \
             Tin=[float resource], Tout=[float float], _lower_using_switch_merge=true}}
             fetch = NoOp(^i)"
        ),
        expect![[r#"
            p = Const
            x = Const @ps0
            h = VarHandleOp @ps1
            before = NoOp
            fetch = NoOp(^i/executed)
            i/condition = Identity(p, ^before)
            i/pivot_switch = Switch(i/condition, i/condition)
            i/switch_0 = Switch(x, i/condition) @ps0
            i/switch_1 = Switch(h, i/condition) @ps1
            i/pivot_else = Identity(i/pivot_switch)
            i/else/c = Const(^i/pivot_else)
            i/pivot_then = Identity(i/pivot_switch:1)
            i/then/c = Const(^i/pivot_then)
            i/then/n = Neg(i/switch_0:1)
            i/then/write = AssignVariableOp(i/switch_1:1, i/then/c)
            i/branch_executed = Identity(i/pivot_else, ^i/switch_0, ^i/else/c)
            i/branch_executed_1 = Identity(i/pivot_then, ^i/switch_0, ^i/then/n, ^i/then/write)
            i/executed = Merge(i/branch_executed, i/branch_executed_1)
        "#]],
    );
}

#[test]
fn without_the_attribute_control_flow_is_left_to_a_kernel() {
    check(
        &format!(
            "{IF}
             fetch = If(p, x, h) {{then_branch=&yes, else_branch=&no, \
             Tin=[float resource], Tout=[float float]}}"
        ),
        expect![[r#"
            p = Const
            x = Const @ps0
            h = VarHandleOp @ps1
            fetch = If(p, x, h)
        "#]],
    );
}

#[test]
fn a_case_chooses_by_number() {
    check(
        "fn f(x: float) -> (y: float = n:y:0) {
           n = Neg(x)
         }
         fn g(x: float) -> (y: float = x) {
         }
         i = Const {dtype=int32}
         x = Const
         fetch = Case(i, x) {branches=[&f &g &f], Tin=[float], Tout=[float], \
         _lower_using_switch_merge=true}",
        expect![[r#"
            i = Const
            x = Const
            fetch/pivot_switch = _SwitchN(i, i)
            fetch/switch_0 = _SwitchN(x, i)
            fetch/pivot_branch_0 = Identity(fetch/pivot_switch)
            fetch/branch_0/n = Neg(fetch/switch_0)
            fetch/pivot_branch_1 = Identity(fetch/pivot_switch:1)
            fetch/pivot_branch_2 = Identity(fetch/pivot_switch:2)
            fetch/branch_2/n = Neg(fetch/switch_0:2)
            fetch/branch_executed = Identity(fetch/pivot_branch_0, ^fetch/branch_0/n)
            fetch/branch_executed_1 = Identity(fetch/pivot_branch_1, ^fetch/switch_0)
            fetch/branch_executed_2 = Identity(fetch/pivot_branch_2, ^fetch/branch_2/n)
            fetch/executed = Merge(fetch/branch_executed, fetch/branch_executed_1, fetch/branch_executed_2)
        "#]],
    );
}

#[test]
fn a_loop_becomes_a_frame() {
    check(
        "fn goes_on(i: float, n: float, h: resource) -> (r: bool = l:z:0) {
           l = Less(i, n)
         }
         fn body(i: float, n: float, h: resource) -> \
         (i2: float = a:z:0, n2: float = same:y:0, h2: resource = h) ^write {
           one = Const
           a = Add(i, one:output:0)
           same = Identity(n)
           write = AssignVariableOp(h, n) @/job:ps
         }
         i = Const
         n = Const
         h = VarHandleOp @ps1
         before = NoOp
         w = While(i, n, h, ^before) @w1 {cond=&goes_on, body=&body, \
         T=[float float resource], _lower_using_switch_merge=true, parallel_iterations=3}
         fetch = Identity(w)
         fetch_n = Identity(w:1)
         fetch_done = NoOp(^w)",
        expect![[r#"
            i = Const
            n = Const
            h = VarHandleOp @ps1
            before = NoOp
            fetch = Identity(w/exit)
            fetch_n = Identity(w/exit_1)
            fetch_done = NoOp(^w/executed)
            w/enter = Enter(i, ^before) @w1
            w/merge = Merge(w/enter, w/next_iteration) @w1
            w/enter_1 = Enter(n, ^before) @w1
            w/merge_1 = Merge(w/enter_1, w/next_iteration_1) @w1
            w/enter_2 = Enter(h, ^before) @w1
            w/cond/l = Less(w/merge, w/merge_1) @w1
            w/loop_cond = LoopCond(w/cond/l) @w1
            w/switch = Switch(w/merge, w/loop_cond) @w1
            w/switch_1 = Switch(w/merge_1, w/loop_cond) @w1
            w/pivot = Identity(w/switch:1) @w1
            w/constant = Identity(w/enter_2, ^w/pivot) @w1
            w/body/one = Const(^w/pivot) @w1
            w/body/a = Add(w/switch:1, w/body/one) @w1
            w/body/same = Identity(w/switch_1:1) @w1
            w/body/write = AssignVariableOp(w/constant, w/switch_1:1) @ps1
            w/next_iteration = NextIteration(w/body/a, ^w/body/write) @w1
            w/next_iteration_1 = NextIteration(w/body/same, ^w/body/write) @w1
            w/exit = Exit(w/switch) @w1
            w/exit_1 = Exit(w/switch_1) @w1
            w/executed = NoOp(^w/exit, ^w/exit_1) @w1
        "#]],
    );
}

#[test]
fn a_loop_over_state_alone_gets_something_that_goes_round() {
    check(
        "fn goes_on(h: resource) -> (r: float = v:value:0) {
           v = ReadVariableOp(h)
         }
         fn body(h: resource) -> (g: resource = h) ^w {
           c = Const
           w = AssignVariableOp(h, c:output:0)
         }
         h = VarHandleOp
         fetch = While(h) {cond=&goes_on, body=&body, T=[resource], \
         _lower_using_switch_merge=true}",
        expect![[r#"
            h = VarHandleOp
            fetch/enter = Enter(h)
            fetch/ticker = Const
            fetch/enter_1 = Enter(fetch/ticker)
            fetch/merge = Merge(fetch/enter_1, fetch/next_iteration)
            fetch/cond/v = ReadVariableOp(fetch/enter)
            fetch/to_bool = ToBool(fetch/cond/v)
            fetch/loop_cond = LoopCond(fetch/to_bool)
            fetch/switch = Switch(fetch/merge, fetch/loop_cond)
            fetch/pivot = Identity(fetch/switch:1)
            fetch/constant = Identity(fetch/enter, ^fetch/pivot)
            fetch/body/c = Const(^fetch/pivot)
            fetch/body/w = AssignVariableOp(fetch/constant, fetch/body/c)
            fetch/next_iteration = NextIteration(fetch/switch:1, ^fetch/body/w)
            fetch/exit = Exit(fetch/switch)
            fetch/executed = NoOp(^fetch/exit)
        "#]],
    );
}

#[test]
fn what_waits_for_an_argument_waits_for_its_value_of_this_iteration() {
    check(
        "fn goes_on(i: float, n: float, h: resource) -> (r: float = v:value:0) {
           v = ReadVariableOp(h, ^n)
         }
         fn body(i: float, n: float, h: resource) -> \
         (j: float = b:y:0, m: float = a:z:0, g: resource = h) {
           b = Neg(i)
           a = Add(n, i)
           w = AssignVariableOp(h, i, ^n)
         }
         i = Const
         n = Const
         h = VarHandleOp
         fetch = While(i, n, h) {cond=&goes_on, body=&body, T=[float float resource], \
         _lower_using_switch_merge=true}",
        expect![[r#"
            i = Const
            n = Const
            h = VarHandleOp
            fetch/enter = Enter(i)
            fetch/merge = Merge(fetch/enter, fetch/next_iteration)
            fetch/enter_1 = Enter(n)
            fetch/merge_1 = Merge(fetch/enter_1, fetch/next_iteration_1)
            fetch/enter_2 = Enter(h)
            fetch/cond/v = ReadVariableOp(fetch/enter_2, ^fetch/merge, ^fetch/merge_1)
            fetch/to_bool = ToBool(fetch/cond/v)
            fetch/loop_cond = LoopCond(fetch/to_bool)
            fetch/switch = Switch(fetch/merge, fetch/loop_cond)
            fetch/switch_1 = Switch(fetch/merge_1, fetch/loop_cond)
            fetch/pivot = Identity(fetch/switch:1)
            fetch/constant = Identity(fetch/enter_2, ^fetch/pivot)
            fetch/body/b = Neg(fetch/switch:1)
            fetch/body/a = Add(fetch/switch_1:1, fetch/switch:1)
            fetch/body/w = AssignVariableOp(fetch/constant, fetch/switch:1, ^fetch/switch_1, ^fetch/pivot)
            fetch/next_iteration = NextIteration(fetch/body/b, ^fetch/body/w)
            fetch/next_iteration_1 = NextIteration(fetch/body/a, ^fetch/body/w)
            fetch/exit = Exit(fetch/switch)
            fetch/exit_1 = Exit(fetch/switch_1)
            fetch/executed = NoOp(^fetch/exit, ^fetch/exit_1)
        "#]],
    );
}

#[test]
fn control_flow_nests() {
    check(
        "fn yes(x: float) -> (y: float = w:output:0) {
           w = While(x) {cond=&goes_on, body=&body, T=[float], _lower_using_switch_merge=true}
         }
         fn no(x: float) -> (y: float = x) {
         }
         fn goes_on(x: float) -> (r: bool = l:z:0) {
           l = Less(x, x)
         }
         fn body(x: float) -> (y: float = c:output:0) {
           c = PartitionedCall(x) {f=&neg, Tin=[float], Tout=[float]}
         }
         fn neg(x: float) -> (y: float = n:y:0) {
           n = Neg(x)
         }
         p = Const {dtype=bool}
         x = Const
         i = StatelessIf(p, x) {then_branch=&yes, else_branch=&no, Tin=[float], \
         Tout=[float], _lower_using_switch_merge=true}
         fetch = Identity(i)",
        expect![[r#"
            p = Const
            x = Const
            fetch = Identity(i/merge_0)
            i/switch_0 = Switch(x, p)
            i/merge_0 = Merge(i/switch_0, i/then/w/exit)
            i/then/w/enter = Enter(i/switch_0:1)
            i/then/w/merge = Merge(i/then/w/enter, i/then/w/next_iteration)
            i/then/w/cond/l = Less(i/then/w/merge, i/then/w/merge)
            i/then/w/loop_cond = LoopCond(i/then/w/cond/l)
            i/then/w/switch = Switch(i/then/w/merge, i/then/w/loop_cond)
            i/then/w/next_iteration = NextIteration(i/then/w/body/c/n)
            i/then/w/exit = Exit(i/then/w/switch)
            i/then/w/body/c/n = Neg(i/then/w/switch:1)
        "#]],
    );
}

#[test]
fn a_gradient_becomes_the_body_of_the_function_and_its_derivative() {
    check(
        "fn neg(x: float) -> (y: float = n:y:0) {
           n = Neg(x)
         }
         fn f(x: float, unused: float) -> (y: float = c:output:0) {
           c = PartitionedCall(x) {f=&neg, Tin=[float], Tout=[float]}
         }
         x = Const
         dy = Const
         g = SymbolicGradient(x, x, dy) {f=&f, Tin=[float float float], Tout=[float float]}
         fetch = Add(g, g:1)",
        expect![[r#"
            x = Const
            dy = Const
            fetch = Add(g/gradients/c_grad/PartitionedCall/gradients/n_grad/Neg, g/ZerosLike)
            g/ZerosLike = ZerosLike(x)
            g/gradients/c_grad/PartitionedCall/gradients/n_grad/Neg = Neg(dy)
        "#]],
    );
}

#[test]
fn the_gradient_of_a_branch_is_a_branch_of_gradients() {
    check(
        "fn neg(x: float) -> (y: float = n:y:0) {
           n = Neg(x)
         }
         fn same(x: float) -> (y: float = x) {
         }
         fn f(p: bool, x: float) -> (y: float = i:output:0) {
           i = If(p, x) {then_branch=&neg, else_branch=&same, Tin=[float], Tout=[float], \
         _lower_using_switch_merge=true}
         }
         p = Const {dtype=bool}
         x = Const
         g = SymbolicGradient(p, x, x) {f=&f, Tin=[bool float float], Tout=[bool float]}
         fetch = Identity(g:1)",
        expect![[r#"
            p = Const
            x = Const
            fetch = Identity(g/gradients/i_grad/If/merge_0)
            g/gradients/i_grad/If/switch_1 = Switch(x, p)
            g/gradients/i_grad/If/then/gradients/n_grad/Neg = Neg(g/gradients/i_grad/If/switch_1:1)
            g/gradients/i_grad/If/merge_0 = Merge(g/gradients/i_grad/If/switch_1, g/gradients/i_grad/If/then/gradients/n_grad/Neg)
        "#]],
    );
}

#[test]
fn a_gradient_that_is_not_there_is_named() {
    check(
        "fn f(x: float) -> (y: float = n:y:0) {
           n = Abs(x)
         }
         x = Const
         fetch = SymbolicGradient(x, x) {f=&f, Tin=[float float], Tout=[float]}",
        expect!["NOT_FOUND: in the gradient of n (Abs): No gradient defined for op: Abs"],
    );
}

/// Two branches that write, of whose results only the second waits for that.
const WRITING_IF: &str = "
    fn write(h: resource) -> (a: float = one:output:0) ^w {
      one = Const
      w = AssignVariableOp(h, one:output:0)
    }
    fn yes(h: resource) -> (a: float = c:output:0, b: float = d:y:0) {
      c = Const
      w = AssignVariableOp(h, c:output:0)
      d = Identity(c:output:0, ^w)
    }
    fn no(h: resource) -> (a: float = c:output:0, b: float = f:a:0) {
      c = Const
      f = write(h)
    }
    p = Const {dtype=bool}
    h = VarHandleOp
    i = If(p, h) {then_branch=&yes, else_branch=&no, Tin=[resource], Tout=[float float], \
    _lower_using_switch_merge=true}
";

#[test]
fn a_branch_of_a_step_runs_what_is_needed_of_it() {
    check_step(
        &format!("{WRITING_IF}fetch = Identity(i)"),
        expect![[r#"
        p = Const
        fetch = Identity(i/merge_0)
        i/pivot_switch = Switch(p, p)
        i/pivot_else = Identity(i/pivot_switch)
        i/else/c = Const(^i/pivot_else)
        i/pivot_then = Identity(i/pivot_switch:1)
        i/then/c = Const(^i/pivot_then)
        i/merge_0 = Merge(i/else/c, i/then/c)
    "#]],
    );
    check_step(
        &format!("{WRITING_IF}fetch = Identity(i:1)"),
        expect![[r#"
            p = Const
            h = VarHandleOp
            fetch = Identity(i/merge_1)
            i/pivot_switch = Switch(p, p)
            i/switch_0 = Switch(h, p)
            i/pivot_then = Identity(i/pivot_switch:1)
            i/then/c = Const(^i/pivot_then)
            i/then/w = AssignVariableOp(i/switch_0:1, i/then/c)
            i/then/d = Identity(i/then/c, ^i/then/w)
            i/merge_1 = Merge(i/else/f/one, i/then/d)
            i/else/f/input_control_node = Identity(i/switch_0)
            i/else/f/one = Const(^i/else/f/input_control_node)
            i/else/f/w = AssignVariableOp(i/switch_0, i/else/f/one)
        "#]],
    );
    check_step(
        &format!("{WRITING_IF}fetch = NoOp(^i)"),
        expect![[r#"
        p = Const
        fetch = NoOp(^i/executed)
        i/pivot_switch = Switch(p, p)
        i/pivot_else = Identity(i/pivot_switch)
        i/pivot_then = Identity(i/pivot_switch:1)
        i/branch_executed = Identity(i/pivot_else, ^i/pivot_else)
        i/branch_executed_1 = Identity(i/pivot_then, ^i/pivot_then)
        i/executed = Merge(i/branch_executed, i/branch_executed_1)
    "#]],
    );
    check_step(
        &format!("{WRITING_IF}fetch = _Retval(i) {{T=float, index=0}}"),
        expect![[r#"
        p = Const
        h = VarHandleOp
        fetch = _Retval(i/merge_0)
        i/pivot_switch = Switch(p, p)
        i/switch_0 = Switch(h, p)
        i/pivot_else = Identity(i/pivot_switch)
        i/else/c = Const(^i/pivot_else)
        i/pivot_then = Identity(i/pivot_switch:1)
        i/then/c = Const(^i/pivot_then)
        i/then/w = AssignVariableOp(i/switch_0:1, i/then/c)
        i/then/d = Identity(i/then/c, ^i/then/w)
        i/merge_0 = Merge(i/else/c, i/then/c)
        i/merge_1 = Merge(i/else/f/one, i/then/d)
        i/else/f/input_control_node = Identity(i/switch_0)
        i/else/f/one = Const(^i/else/f/input_control_node)
        i/else/f/w = AssignVariableOp(i/switch_0, i/else/f/one)
    "#]],
    );
}

#[test]
fn a_loop_of_a_step_runs_what_is_needed_of_it() {
    let text = "
        fn goes_on(i: float, x: float, h: resource) -> (c: bool = l:z:0) {
          l = Less(i, i)
        }
        fn body(i: float, x: float, h: resource) -> (j: float = n:y:0, y: float = m:y:0, \
        g: resource = h) {
          n = Neg(i)
          w = AssignVariableOp(h, x)
          m = Neg(x, ^w)
        }
        i = Const
        x = Const
        h = VarHandleOp
        w = While(i, x, h) {cond=&goes_on, body=&body, T=[float float resource], \
        _lower_using_switch_merge=true}
        fetch = ";
    check_step(
        &format!("{text}Identity(w)"),
        expect![[r#"
        i = Const
        fetch = Identity(w/exit)
        w/enter = Enter(i)
        w/merge = Merge(w/enter, w/next_iteration)
        w/cond/l = Less(w/merge, w/merge)
        w/loop_cond = LoopCond(w/cond/l, ^w/merge)
        w/switch = Switch(w/merge, w/loop_cond)
        w/pivot = Identity(w/switch:1)
        w/body/n = Neg(w/switch:1)
        w/next_iteration = NextIteration(w/body/n, ^w/pivot)
        w/exit = Exit(w/switch)
    "#]],
    );
    check_step(
        &format!("{text}NoOp(^w)"),
        expect![[r#"
        i = Const
        x = Const
        h = VarHandleOp
        fetch = NoOp(^w/executed)
        w/enter = Enter(i)
        w/merge = Merge(w/enter, w/next_iteration)
        w/enter_1 = Enter(x)
        w/merge_1 = Merge(w/enter_1, w/next_iteration_1)
        w/enter_2 = Enter(h)
        w/cond/l = Less(w/merge, w/merge)
        w/loop_cond = LoopCond(w/cond/l, ^w/merge)
        w/switch = Switch(w/merge, w/loop_cond)
        w/switch_1 = Switch(w/merge_1, w/loop_cond)
        w/pivot = Identity(w/switch:1)
        w/constant = Identity(w/enter_2, ^w/pivot)
        w/body/n = Neg(w/switch:1)
        w/body/w = AssignVariableOp(w/constant, w/switch_1:1)
        w/body/m = Neg(w/switch_1:1, ^w/body/w)
        w/next_iteration = NextIteration(w/body/n, ^w/pivot)
        w/next_iteration_1 = NextIteration(w/body/m, ^w/pivot)
        w/exit = Exit(w/switch)
        w/exit_1 = Exit(w/switch_1)
        w/executed = NoOp(^w/exit, ^w/exit_1)
    "#]],
    );
}

#[test]
fn functions_that_describe_too_large_a_graph_are_refused() {
    let mut text = String::from("fn f0(x: float) -> (y: float = n:y:0) {\nn = Neg(x)\n}\n");
    for level in 1..40 {
        let inner = level - 1;
        text += &format!(
            "fn f{level}(x: float) -> (y: float = b:y:0) {{\na = f{inner}(x)\n\
             b = f{inner}(a:y:0)\n}}\n"
        );
    }
    let ops = ops();
    let graph = parse(&format!("{text}p = Const\nfetch = f39(p)"), &ops).unwrap();
    let roots = vec![graph.find("fetch").unwrap()];
    let error = lower_all(Step { graph, roots }, &ops, &Options::default()).unwrap_err();
    assert_eq!(error.code(), tensorfleet_tensor::Code::ResourceExhausted);
}

#[test]
fn lowered_nodes_are_found_where_they_were_written() {
    let ops = ops();
    let text = "fn inner(x: float) -> (y: float = twice:y:0) {
           twice = Neg(x)
         }
         fn otherwise(x: float) -> (y: float = call:output:0) {
           call = PartitionedCall(x) {f=&inner, Tin=[float], Tout=[float]}
           plain = inner(x)
         }
         fn whole(c: bool, x: float) -> (y: float = i:output:0) {
           first = Neg(x)
           i = If(c, first:y:0) {then_branch=&inner, else_branch=&otherwise, Tin=[float], \
             Tout=[float]}
         }
         p = Const
         fetch = Identity(p)";
    let graph = parse(text, &ops).unwrap();
    let library = graph.library();
    let find = |name| origin("whole", library, name).map(|found| (found.functions, found.node));
    assert_eq!(find("first"), Some((vec![], "first")));
    assert_eq!(find("i"), Some((vec![], "i")));
    assert_eq!(find("i/then/twice"), Some((vec!["inner"], "twice")));
    assert_eq!(find("i/else/call/twice"), Some((vec!["otherwise", "inner"], "twice")));
    assert_eq!(find("i/else/plain/twice"), Some((vec!["otherwise", "inner"], "twice")));
    for made in ["i/pivot_else", "i/else/twice", "first/twice", "twice", ""] {
        assert_eq!(find(made), None, "{made}");
    }
    assert_eq!(origin("nobody", library, "first"), None);
}
