//! Splits JavaScript into tokens, as far as counting functions needs it: names, punctuation, and
//! literals as one token.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind<'a> {
    Name(&'a str),
    /// One character, except for `=>`, which is `'⇒'`.
    Punctuation(char),
    /// A string, template, regular expression or number.
    Literal,
}

#[derive(Debug, Clone, Copy)]
pub struct Token<'a> {
    pub kind: Kind<'a>,
    pub line: usize,
}

pub fn tokenize(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    while let Some((start, kind)) = lexer.next(tokens.last().map(|token: &Token<'_>| token.kind)) {
        let line = 1 + text[..start].matches('\n').count();
        tokens.push(Token { kind, line });
    }
    tokens
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// The next token and where it starts. The token before it decides whether a slash starts a
    /// regular expression.
    fn next(&mut self, previous: Option<Kind<'_>>) -> Option<(usize, Kind<'a>)> {
        self.skip_space_and_comments();
        let start = self.at;
        let first = self.advance()?;
        let kind = match first {
            '"' | '\'' => self.skip_quoted(first),
            '`' => self.skip_template(),
            '/' if starts_expression(previous) => self.skip_regular_expression(),
            '=' if self.rest().starts_with('>') => {
                self.at += 1;
                Kind::Punctuation('⇒')
            }
            _ if is_name(first) => {
                while self.rest().starts_with(is_name) {
                    self.advance();
                }
                if first.is_ascii_digit() {
                    Kind::Literal
                } else {
                    Kind::Name(&self.text[start..self.at])
                }
            }
            other => Kind::Punctuation(other),
        };
        Some((start, kind))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn advance(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn skip_past(&mut self, end: &str) {
        self.at += self
            .rest()
            .find(end)
            .map_or(self.rest().len(), |at| at + end.len());
    }

    fn skip_space_and_comments(&mut self) {
        loop {
            let rest = self.rest();
            if rest.starts_with("//") || (self.at == 0 && rest.starts_with("#!")) {
                self.skip_past("\n");
            } else if rest.starts_with("/*") {
                self.skip_past("*/");
            } else if rest.starts_with(char::is_whitespace) {
                self.advance();
            } else {
                return;
            }
        }
    }

    fn skip_quoted(&mut self, quote: char) -> Kind<'a> {
        while let Some(next) = self.advance() {
            match next {
                '\\' => drop(self.advance()),
                _ if next == quote => break,
                _ => {}
            }
        }
        Kind::Literal
    }

    fn skip_template(&mut self) -> Kind<'a> {
        while let Some(next) = self.advance() {
            match next {
                '\\' => drop(self.advance()),
                '`' => break,
                '$' if self.rest().starts_with('{') => self.skip_substitution(),
                _ => {}
            }
        }
        Kind::Literal
    }

    /// Skips `{…}` in a template, which may contain any expression.
    fn skip_substitution(&mut self) {
        let (mut depth, mut previous) = (0, None);
        while let Some((_, kind)) = self.next(previous) {
            match kind {
                Kind::Punctuation('{') => depth += 1,
                Kind::Punctuation('}') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
            previous = Some(kind);
        }
    }

    fn skip_regular_expression(&mut self) -> Kind<'a> {
        let mut in_class = false;
        while let Some(next) = self.advance() {
            match next {
                '\\' => drop(self.advance()),
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => break,
                _ => {}
            }
        }
        Kind::Literal
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '#')
}

/// Whether an expression can start after this token: then a slash is not a division.
fn starts_expression(previous: Option<Kind<'_>>) -> bool {
    match previous {
        None => true,
        Some(Kind::Literal) => false,
        Some(Kind::Punctuation(c)) => !matches!(c, ')' | ']' | '}'),
        Some(Kind::Name(name)) => [
            "return", "typeof", "case", "in", "of", "await", "yield", "void", "delete", "throw",
        ]
        .contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and punctuation, with `0` for a literal.
    fn tokens(text: &str) -> String {
        let tokens = tokenize(text).into_iter().map(|token| match token.kind {
            Kind::Name(name) => name.to_owned(),
            Kind::Punctuation(c) => c.to_string(),
            Kind::Literal => "0".to_owned(),
        });
        tokens.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn skips_comments_strings_and_templates() {
        assert_eq!(tokens("a // {\n/* { */ b"), "a b");
        assert_eq!(tokens(r#"a("{\"", '\'{')"#), "a ( 0 , 0 )");
        assert_eq!(tokens("a(`{ ${ b({ c: `}` }) } {`)"), "a ( 0 )");
    }

    #[test]
    fn distinguishes_regular_expressions_from_division() {
        assert_eq!(tokens("a = /[/{]\\/{/g;"), "a = 0 g ;");
        assert_eq!(tokens("return /{/.test(a)"), "return 0 . test ( a )");
        assert_eq!(tokens("(a / b) / c[0] / 2"), "( a / b ) / c [ 0 ] / 0");
    }

    #[test]
    fn counts_lines() {
        let lines: Vec<usize> = tokenize("a\n`\n`\nb")
            .iter()
            .map(|token| token.line)
            .collect();
        assert_eq!(lines, [1, 2, 4]);
    }
}
