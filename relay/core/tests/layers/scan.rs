//! Reads a source file: the methods that it defines, and everything in it that may refer to another
//! layer.
//!
//! Definitions come from the syntax tree. References come from the tokens, because the tree does
//! not include the arguments of macros. Items under `#[cfg(test)]` are skipped.

use std::fmt;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::visit::{self, Visit};

pub struct Source {
    pub path: String,
    /// Type (or trait) and name.
    pub methods: Vec<(String, String)>,
    pub references: Vec<Reference>,
    /// In `lib.rs`: each imported name, and the module that it comes from.
    pub root_imports: Vec<(String, String)>,
    /// In `lib.rs`: free functions.
    pub root_functions: Vec<String>,
}

pub struct Reference {
    pub line: usize,
    pub used: Used,
}

pub enum Used {
    /// A name in the crate root, which may be a layer; `*` for all of them.
    Root(String),
    /// `receiver.name(…)`. Of a longer receiver only the last name is kept; empty if there is none.
    Method { receiver: String, name: String },
    /// `Owner::name`
    Associated { owner: String, name: String },
}

impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(name) => write!(f, "`crate::{name}`"),
            Self::Method { name, .. } => write!(f, "the method `{name}`"),
            Self::Associated { owner, name } => write!(f, "`{owner}::{name}`"),
        }
    }
}

impl Source {
    pub fn parse(path: &str, text: &str) -> Self {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let tokens: TokenStream = text
            .parse()
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut definitions = Definitions::default();
        definitions.visit_file(&file);
        let mut source = Self {
            path: path.to_owned(),
            methods: definitions.methods,
            references: Vec::new(),
            root_imports: Vec::new(),
            root_functions: Vec::new(),
        };
        if path == "lib.rs" {
            source.read_root(&file);
        }
        let mut scan = Scan {
            depth: module_depth(path),
            references: &mut source.references,
        };
        scan.scan(tokens);
        source
    }

    fn read_root(&mut self, file: &syn::File) {
        for item in &file.items {
            match item {
                syn::Item::Use(import) => {
                    if let syn::UseTree::Path(path) = &import.tree {
                        self.read_import(path);
                    }
                }
                syn::Item::Fn(function) => {
                    self.root_functions.push(function.sig.ident.to_string());
                }
                _ => {}
            }
        }
    }

    fn read_import(&mut self, path: &syn::UsePath) {
        let module = path.ident.to_string();
        if ["crate", "self"].contains(&module.as_str()) {
            if let syn::UseTree::Path(inner) = &*path.tree {
                self.read_import(inner);
            }
            return;
        }
        let mut names = Vec::new();
        imported_names(&path.tree, &mut names);
        let imports = names.into_iter().map(|name| (name, module.clone()));
        self.root_imports.extend(imports);
    }
}

fn imported_names(tree: &syn::UseTree, names: &mut Vec<String>) {
    match tree {
        syn::UseTree::Path(path) => imported_names(&path.tree, names),
        syn::UseTree::Name(name) => names.push(name.ident.to_string()),
        syn::UseTree::Rename(rename) => names.push(rename.rename.to_string()),
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                imported_names(tree, names);
            }
        }
        syn::UseTree::Glob(_) => {}
    }
}

/// How many modules deep a file is: 0 for `lib.rs`, 1 for `tab.rs` and `tab/mod.rs`.
fn module_depth(path: &str) -> usize {
    let module = path.trim_end_matches(".rs").trim_end_matches("/mod");
    if module == "lib" {
        0
    } else {
        module.split('/').count()
    }
}

/// Collects methods of inherent `impl` blocks and of traits.
#[derive(Default)]
struct Definitions {
    methods: Vec<(String, String)>,
}

impl<'ast> Visit<'ast> for Definitions {
    fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
        if block.trait_.is_some() || is_test(&block.attrs) {
            return;
        }
        let syn::Type::Path(owner) = &*block.self_ty else {
            return;
        };
        let Some(owner) = owner.path.segments.last() else {
            return;
        };
        for item in &block.items {
            if let syn::ImplItem::Fn(method) = item
                && !is_test(&method.attrs)
            {
                let name = method.sig.ident.to_string();
                self.methods.push((owner.ident.to_string(), name));
            }
        }
        visit::visit_item_impl(self, block);
    }

    fn visit_item_trait(&mut self, definition: &'ast syn::ItemTrait) {
        for item in &definition.items {
            if let syn::TraitItem::Fn(method) = item {
                let name = method.sig.ident.to_string();
                self.methods.push((definition.ident.to_string(), name));
            }
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Path>()
                .is_ok_and(|condition| condition.is_ident("test"))
    })
}

/// Collects the references in a token stream.
struct Scan<'a> {
    /// How many modules deep the file is: as many `super` lead to the crate root.
    depth: usize,
    references: &'a mut Vec<Reference>,
}

impl Scan<'_> {
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            if is_test_attribute(&tokens[at..]) {
                at += 2;
                while at < tokens.len() && !ends_item(&tokens[at]) {
                    at += 1;
                }
            } else if let TokenTree::Group(group) = &tokens[at] {
                self.scan(group.stream());
            } else {
                self.find_root_path(&tokens, at);
                self.find_method(&tokens, at);
                self.find_associated(&tokens, at);
            }
            at += 1;
        }
    }

    /// `crate::name`, `crate::{name, …}`, and the same after enough `super`
    fn find_root_path(&mut self, tokens: &[TokenTree], at: usize) {
        let mut next = at;
        if is_ident(tokens.get(at), "crate") {
            next += 1;
        } else {
            let continues = at > 0 && is_punct(tokens.get(at - 1), ':');
            let mut supers = 0;
            while !continues && is_ident(tokens.get(next), "super") && is_path(tokens, next + 1) {
                supers += 1;
                next += 3;
            }
            if supers == 0 || supers < self.depth {
                return;
            }
            next -= 2;
        }
        if is_path(tokens, next) {
            self.add_root_names(&tokens[next + 2..]);
        }
    }

    /// The first name, or the first names of all entries of a group.
    fn add_root_names(&mut self, tokens: &[TokenTree]) {
        match tokens.first() {
            Some(TokenTree::Ident(name)) => {
                self.add(name.span(), Used::Root(name.to_string()));
            }
            Some(TokenTree::Punct(glob)) if glob.as_char() == '*' => {
                self.add(glob.span(), Used::Root("*".to_owned()));
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                self.add_group(group);
            }
            _ => {}
        }
    }

    fn add_group(&mut self, group: &Group) {
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        for entry in tokens.split(|token| is_punct(Some(token), ',')) {
            self.add_root_names(entry);
        }
    }

    /// `.name(…)` or `.name::<…>(…)`
    fn find_method(&mut self, tokens: &[TokenTree], at: usize) {
        let (true, Some(TokenTree::Ident(name))) =
            (is_punct(tokens.get(at), '.'), tokens.get(at + 1))
        else {
            return;
        };
        let is_call = match tokens.get(at + 2) {
            Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Parenthesis,
            _ => is_path(tokens, at + 2),
        };
        if is_call {
            let receiver = match at.checked_sub(1).and_then(|before| tokens.get(before)) {
                Some(TokenTree::Ident(receiver)) => receiver.to_string(),
                _ => String::new(),
            };
            let name_text = name.to_string();
            self.add(
                name.span(),
                Used::Method {
                    receiver,
                    name: name_text,
                },
            );
        }
    }

    /// `Owner::name`
    fn find_associated(&mut self, tokens: &[TokenTree], at: usize) {
        let (Some(TokenTree::Ident(owner)), true, Some(TokenTree::Ident(name))) =
            (tokens.get(at), is_path(tokens, at + 1), tokens.get(at + 3))
        else {
            return;
        };
        let (owner, name_text) = (owner.to_string(), name.to_string());
        if owner.starts_with(char::is_uppercase) {
            self.add(
                name.span(),
                Used::Associated {
                    owner,
                    name: name_text,
                },
            );
        }
    }

    fn add(&mut self, span: proc_macro2::Span, used: Used) {
        let line = span.start().line;
        self.references.push(Reference { line, used });
    }
}

fn is_ident(token: Option<&TokenTree>, name: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == name)
}

fn is_punct(token: Option<&TokenTree>, c: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == c)
}

/// Whether `::` is at this position.
fn is_path(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens.get(at), ':') && is_punct(tokens.get(at + 1), ':')
}

/// `#[cfg(test)]`
fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    let (true, Some(TokenTree::Group(group))) = (is_punct(tokens.first(), '#'), tokens.get(1))
    else {
        return false;
    };
    let content: String = group.stream().to_string();
    content.replace(' ', "") == "cfg(test)"
}

/// Whether this token is the last one of an item: its body, or a semicolon.
fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        other => is_punct(Some(other), ';'),
    }
}
