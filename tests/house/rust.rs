//! Finds the functions of a Rust file. Closures belong to the function around them.

use syn::visit::{self, Visit};

use crate::Function;

pub fn functions(text: &str) -> syn::Result<Vec<Function>> {
    let mut finder = Finder::default();
    finder.visit_file(&syn::parse_file(text)?);
    Ok(finder.functions)
}

#[derive(Default)]
struct Finder {
    functions: Vec<Function>,
}

impl Finder {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let line = signature.fn_token.span.start().line;
        let end = body.brace_token.span.close().end().line;
        self.functions.push(Function {
            name: signature.ident.to_string(),
            line,
            lines: end - line + 1,
        });
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.add(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_free_functions_methods_and_default_methods() {
        let text = "
            fn free() {}
            impl S {
                #[inline]
                pub async fn method(
                    &self,
                ) -> usize {
                    fn nested() {}
                    let closure = || { 1 };
                    // } not the end
                    let text = \"}\";
                }
            }
            trait T {
                fn required(&self);
                fn provided(&self) {
                }
            }";
        let found = functions(text).unwrap();
        let found: Vec<(&str, usize, usize)> = found
            .iter()
            .map(|function| (function.name.as_str(), function.line, function.lines))
            .collect();
        assert_eq!(
            found,
            [
                ("free", 2, 1),
                ("method", 5, 8),
                ("nested", 8, 1),
                ("provided", 16, 2)
            ]
        );
    }
}
