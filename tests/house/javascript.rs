//! Finds the functions of a JavaScript file: declarations, methods, and arrow functions with a
//! name. An anonymous callback belongs to the function around it.

use crate::Function;
use crate::tokens::{Kind, Token, tokenize};

/// Names that a parenthesis and a block follow without being a method.
const NOT_METHODS: [&str; 8] = [
    "if", "for", "while", "switch", "catch", "with", "await", "function",
];

pub fn functions(text: &str) -> Vec<Function> {
    let tokens = tokenize(text);
    let partners = partners(&tokens);
    let finder = Finder { tokens, partners };
    (0..finder.tokens.len())
        .filter_map(|at| finder.function_with_body_at(at))
        .collect()
}

struct Finder<'a> {
    tokens: Vec<Token<'a>>,
    /// For each bracket, the position of the bracket that closes or opens it.
    partners: Vec<Option<usize>>,
}

fn partners(tokens: &[Token<'_>]) -> Vec<Option<usize>> {
    let (mut partners, mut open) = (vec![None; tokens.len()], Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Punctuation('(' | '[' | '{') => open.push(at),
            Kind::Punctuation(')' | ']' | '}') => {
                let partner = open.pop();
                partners[at] = partner;
                if let Some(partner) = partner {
                    partners[partner] = Some(at);
                }
            }
            _ => {}
        }
    }
    partners
}

impl Finder<'_> {
    /// The function whose body starts with the brace at this position.
    fn function_with_body_at(&self, at: usize) -> Option<Function> {
        if !self.is(at, '{') {
            return None;
        }
        let before = at.checked_sub(1)?;
        let name_at = match self.tokens[before].kind {
            Kind::Punctuation('⇒') => self.arrow_name(before)?,
            Kind::Punctuation(')') => self.method_or_declaration_name(self.partners[before]?)?,
            _ => return None,
        };
        let name = match self.tokens[name_at].kind {
            Kind::Name(name) => name,
            _ => "(computed)",
        };
        let (line, end) = (
            self.tokens[name_at].line,
            self.tokens[self.partners[at]?].line,
        );
        Some(Function {
            name: name.to_owned(),
            line,
            lines: end - line + 1,
        })
    }

    /// `name = (…) =>`, `name: async value =>`
    fn arrow_name(&self, arrow: usize) -> Option<usize> {
        let last = arrow.checked_sub(1)?;
        let mut start = if self.is(last, ')') {
            self.partners[last]?
        } else {
            last
        };
        if start > 0 && self.is_name(start - 1, "async") {
            start -= 1;
        }
        let assign = start.checked_sub(1)?;
        let is_assigned = self.is(assign, '=') || self.is(assign, ':');
        is_assigned.then(|| assign.checked_sub(1))?
    }

    /// `name(…)`, `function name(…)`, `function(…)`, `[name](…)`
    fn method_or_declaration_name(&self, parenthesis: usize) -> Option<usize> {
        let before = parenthesis.checked_sub(1)?;
        match self.tokens[before].kind {
            Kind::Name("function") => Some(before),
            Kind::Name(name) => (!NOT_METHODS.contains(&name)).then_some(before),
            Kind::Literal | Kind::Punctuation(']') => Some(before),
            Kind::Punctuation('*') => before.checked_sub(1),
            Kind::Punctuation(_) => None,
        }
    }

    fn is(&self, at: usize, c: char) -> bool {
        self.tokens[at].kind == Kind::Punctuation(c)
    }

    fn is_name(&self, at: usize, name: &str) -> bool {
        self.tokens[at].kind == Kind::Name(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, usize, usize)> {
        functions(text)
            .into_iter()
            .map(|function| (function.name, function.line, function.lines))
            .collect()
    }

    #[test]
    fn finds_declarations_methods_and_named_arrows() {
        let text = "
            export async function* declared(
                a = {},
            ) {
            }
            const arrow = async ({ b }) => {
                list.map((x) => { return x; });
            };
            class C {
                #secret(x) { if (x) { } for (;;) { } }
                static get size() {
                    try { } catch (error) { }
                }
            }
            const o = {
                key: value => { while (true) { } },
                plain() { },
                nothing: 1,
            };";
        let expected = [
            ("declared", 2, 4),
            ("arrow", 6, 3),
            ("#secret", 10, 1),
            ("size", 11, 3),
            ("key", 16, 1),
            ("plain", 17, 1),
        ];
        let expected = expected.map(|(name, line, lines)| (name.to_owned(), line, lines));
        assert_eq!(found(text), expected);
    }

    #[test]
    fn ignores_blocks_callbacks_and_expressions() {
        let text = "
            const short = (x) => x;
            run(async () => { });
            if (a) { } else { }
            switch (b) { }
            for await (const c of d) { }
            const e = { f: { } };";
        assert_eq!(found(text), []);
    }
}
