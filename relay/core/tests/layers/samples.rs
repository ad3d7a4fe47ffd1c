//! Small samples that show what the check finds and what it allows.

use crate::{LAYERS, check};

/// Checks these files, plus an empty file for every layer.
fn violations(files: &[(&str, &str)]) -> Vec<String> {
    let empty = LAYERS
        .iter()
        .map(|layer| (format!("{layer}/mod.rs"), String::new()));
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    check(&empty.chain(files).collect::<Vec<_>>())
}

#[track_caller]
fn assert_allowed(files: &[(&str, &str)]) {
    assert_eq!(violations(files), Vec::<String>::new());
}

#[track_caller]
fn assert_violation(files: &[(&str, &str)], expected: &str) {
    assert_eq!(violations(files), [expected]);
}

#[test]
fn allows_lower_layers_and_the_own_layer() {
    let text = "use crate::{Core, Now};\nuse crate::model::tab::Tab;\nuse crate::tab::dormant;\nuse super::debugger;";
    assert_allowed(&[("tab/wake.rs", text)]);
    assert_allowed(&[("lib.rs", "mod event;\nuse crate::event::link;")]);
}

#[test]
fn finds_a_path_into_a_higher_layer() {
    let expected = "session/forward.rs:2: session uses `crate::event`, which is in event";
    for use_line in [
        "use crate::event::link;",
        "use crate::event as other;",
        "use crate::{model::tab, event::link};",
        "use super::super::event::link;",
        "use super::super::{protocol, event};",
        "fn f() { crate::event::link::close() }",
        "fn f() { println!(\"{}\", crate::event::COUNT) }",
        "fn f(link: &crate::event::link::Link) {}",
    ] {
        let text = format!("use crate::model;\n{use_line}");
        assert_violation(&[("session/forward.rs", &text)], expected);
    }
}

#[test]
fn resolves_super_from_the_depth_of_the_file() {
    let text = "use super::event;";
    assert_allowed(&[("session/forward.rs", text)]);
    for path in ["session/mod.rs", "session.rs"] {
        let expected = format!("{path}:1: session uses `crate::event`, which is in event");
        assert_violation(&[(path, text)], &expected);
    }
}

#[test]
fn finds_a_reexport_of_a_higher_layer() {
    let root = (
        "lib.rs",
        "pub use event::link::{Link, other::Late as Renamed};",
    );
    for name in ["Link", "Renamed"] {
        let text = format!("use crate::{name};");
        let expected = format!("model/tab.rs:1: model uses `crate::{name}`, which is in event");
        assert_violation(&[root, ("model/tab.rs", &text)], &expected);
    }
    assert_violation(
        &[root, ("model/tab.rs", "use crate::*;")],
        "model/tab.rs:1: model uses `crate::*`, which is in lib.rs",
    );
}

#[test]
fn finds_functions_of_the_root_and_allows_its_types() {
    let root = ("lib.rs", "pub struct Config;\nfn drain() {}");
    assert_allowed(&[root, ("event/link.rs", "use crate::Config;")]);
    assert_violation(
        &[root, ("event/link.rs", "fn f() { crate::drain() }")],
        "event/link.rs:1: event uses `crate::drain`, which is in lib.rs",
    );
}

#[test]
fn state_does_not_use_the_core() {
    assert_allowed(&[("emit/out.rs", "use crate::Core;")]);
    assert_violation(
        &[("model/tab.rs", "use crate::Core;")],
        "model/tab.rs:1: model uses `crate::Core`, which is in emit",
    );
}

const WAKE: (&str, &str) = ("tab/wake.rs", "impl Core { fn wake(&mut self) {} }");

#[test]
fn finds_a_call_of_a_method_that_only_higher_layers_define() {
    for body in [
        "self.wake()",
        "self\n.wake()",
        "core.wake::<u8>()",
        "self.each(|core| core.wake())",
        "tracing::debug!(\"{}\", self.wake())",
        "self.core_mut().wake()",
    ] {
        let text = format!("impl Core {{ fn send(&mut self) {{ {body}; }} }}");
        let line = 1 + body.matches('\n').count();
        let expected = format!("emit/out.rs:{line}: emit uses the method `wake`, which is in tab");
        assert_violation(&[WAKE, ("emit/out.rs", &text)], &expected);
    }
}

#[test]
fn finds_a_path_to_a_method_that_only_higher_layers_define() {
    for owner in ["Core", "Self"] {
        let text = format!("impl Core {{ fn send(&mut self) {{ run({owner}::wake) }} }}");
        let expected = format!("emit/out.rs:1: emit uses `{owner}::wake`, which is in tab");
        assert_violation(&[WAKE, ("emit/out.rs", &text)], &expected);
    }
    assert_allowed(&[WAKE, ("emit/out.rs", "fn f() { Other::wake() }")]);
}

#[test]
fn finds_a_call_of_a_method_of_the_root() {
    assert_violation(
        &[
            ("lib.rs", "impl Core { pub fn handle(&mut self) {} }"),
            ("event/link.rs", "fn f(core: &mut Core) { core.handle() }"),
        ],
        "event/link.rs:1: event uses the method `handle`, which is in lib.rs",
    );
}

#[test]
fn allows_a_call_of_a_method_that_a_lower_layer_defines_too() {
    assert_allowed(&[
        WAKE,
        ("model/tab.rs", "impl Tab { fn wake(&mut self) {} }"),
        ("emit/out.rs", "fn f(tab: &mut Tab) { tab.wake() }"),
    ]);
    assert_allowed(&[
        WAKE,
        ("event/link.rs", "fn f(core: &mut Core) { core.wake() }"),
    ]);
}

#[test]
fn allows_fields_and_common_methods_of_other_types() {
    let take = ("tab/wake.rs", "impl Core { fn take(&mut self) {} }");
    assert_allowed(&[take, ("emit/out.rs", "fn f() { queue.take(); self.wake; }")]);
    assert_violation(
        &[
            take,
            ("emit/out.rs", "fn f(core: &mut Core) { core.take() }"),
        ],
        "emit/out.rs:1: emit uses the method `take`, which is in tab",
    );
}

#[test]
fn ignores_tests_comments_and_strings() {
    let text = "
        //! See `crate::event`.
        const A: &str = \"crate::event::link self.wake()\";
        #[cfg(test)]
        use crate::event;
        #[cfg(test)]
        mod tests {
            use crate::event;
            fn f() { self.wake() }
        }";
    assert_allowed(&[WAKE, ("emit/out.rs", text)]);
    let helper = "#[cfg(test)] impl Core { fn inspect(&self) {} }";
    assert_allowed(&[
        ("tab/wake.rs", helper),
        ("emit/out.rs", "fn f() { list.inspect() }"),
    ]);
}

#[test]
fn finds_code_after_a_test_item() {
    let text = "#[cfg(test)]\nmod tests;\nuse crate::event;";
    assert_violation(
        &[("emit/out.rs", text)],
        "emit/out.rs:3: emit uses `crate::event`, which is in event",
    );
}

#[test]
fn every_file_belongs_to_a_layer_and_every_layer_has_files() {
    assert_violation(&[("wake.rs", "")], "wake.rs:1: belongs to no layer");
    let files: Vec<_> = LAYERS[1..]
        .iter()
        .map(|layer| (format!("{layer}.rs"), String::new()))
        .collect();
    assert_eq!(check(&files), ["protocol:1: the layer has no files"]);
}

#[test]
fn finds_a_method_of_the_core_that_a_lower_type_shares_by_name() {
    let files = [
        ("model/tab.rs", "impl Tab { fn wake(&self) {} }"),
        ("tab/wake.rs", "impl Core { fn wake(&mut self) {} }"),
        (
            "session/forward.rs",
            "impl Core { fn forward(&mut self, tab: &Tab) { tab.wake(); self.wake(); } }",
        ),
    ];
    assert_violation(
        &files,
        "session/forward.rs:1: session uses the method `wake`, which is in tab",
    );
}
