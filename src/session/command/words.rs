//! A shell command line → words and operators. Quoted text, comments and here-documents are no
//! commands; what a substitution runs is kept apart.

use std::iter::Peekable;
use std::str::Chars;

/// A piece of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A word without its quotes, and the command lines that it runs in substitutions.
    Word(String, Vec<String>),
    /// `&&`.
    And,
    /// `||`.
    Or,
    /// `|` or `|&`.
    Pipe,
    /// `&`: what stands before it runs in the background.
    Background,
    /// `;`, or the end of a line.
    Next,
    /// `(`.
    Open,
    /// `)`.
    Close,
}

/// Cuts a command line. Redirections are left out; what is not closed ends with the line.
pub(super) fn tokens(line: &str) -> Vec<Token> {
    let mut cutter = Cutter {
        chars: line.chars().peekable(),
        out: Vec::new(),
        word: None,
        runs: Vec::new(),
        documents: Vec::new(),
    };
    cutter.cut();
    cutter.out
}

struct Cutter<'a> {
    chars: Peekable<Chars<'a>>,
    out: Vec<Token>,
    /// The word that is being read; a quoted one may be empty.
    word: Option<String>,
    runs: Vec<String>,
    /// The ends of the here-documents that begin on the next line.
    documents: Vec<String>,
}

impl Cutter<'_> {
    fn cut(&mut self) {
        while let Some(c) = self.chars.next() {
            match c {
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' => {
                    self.push(Token::Next);
                    self.skip_documents();
                }
                ';' => self.push(Token::Next),
                '(' => self.push(Token::Open),
                ')' => self.push(Token::Close),
                '&' if self.eat('&') => self.push(Token::And),
                '&' if self.chars.peek() == Some(&'>') => self.end_word(),
                '&' => self.push(Token::Background),
                '|' if self.eat('|') => self.push(Token::Or),
                '|' => {
                    self.eat('&');
                    self.push(Token::Pipe);
                }
                '<' | '>' => self.redirection(c),
                '#' if self.word.is_none() => while self.chars.next_if(|c| *c != '\n').is_some() {},
                c => self.part_of_word(c),
            }
        }
        self.end_word();
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.chars.next_if_eq(&wanted).is_some()
    }

    fn push(&mut self, token: Token) {
        self.end_word();
        self.out.push(token);
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            self.out.push(Token::Word(word, std::mem::take(&mut self.runs)));
        }
    }

    fn part_of_word(&mut self, c: char) {
        let mut word = self.word.take().unwrap_or_default();
        match c {
            '\'' => self.quoted('\'', &mut word),
            '"' => self.double_quoted(&mut word),
            '`' => self.backquoted(),
            '$' if self.eat('(') => self.substitution(),
            '\\' => match self.chars.next() {
                // A line that goes on: no word begins by it.
                Some('\n') if word.is_empty() => return,
                Some('\n') | None => {}
                Some(c) => word.push(c),
            },
            c => word.push(c),
        }
        self.word = Some(word);
    }

    fn quoted(&mut self, end: char, word: &mut String) {
        for c in self.chars.by_ref() {
            if c == end {
                break;
            }
            word.push(c);
        }
    }

    fn double_quoted(&mut self, word: &mut String) {
        while let Some(c) = self.chars.next() {
            match c {
                '"' => return,
                '\\' => word.extend(self.chars.next()),
                '`' => self.backquoted(),
                '$' if self.eat('(') => self.substitution(),
                c => word.push(c),
            }
        }
    }

    fn backquoted(&mut self) {
        let mut run = String::new();
        self.quoted('`', &mut run);
        self.runs.push(run);
    }

    /// Behind `$(`, or behind `(` of a process: to the parenthesis that closes it.
    fn substitution(&mut self) {
        let mut run = String::new();
        let mut depth = 1_u32;
        while let Some(c) = self.chars.next() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                '\'' | '"' => {
                    run.push(c);
                    self.quoted(c, &mut run);
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
            run.push(c);
        }
        self.runs.push(run);
    }

    /// Behind `<` or `>`: its target is no word of the command.
    fn redirection(&mut self, first: char) {
        if self.eat('(') {
            self.word.get_or_insert_default();
            self.substitution();
            return;
        }
        let is_descriptor =
            |word: &String| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_descriptor) {
            self.word = None;
        }
        self.end_word();
        let mut angles = 1;
        while first == '<' && self.eat('<') {
            angles += 1;
        }
        let is_document = angles == 2;
        while self.chars.next_if(|c| matches!(c, '>' | '&' | '|')).is_some() {}
        if is_document {
            self.eat('-');
        }
        while self.chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let is_part = |c: &char| !c.is_whitespace() && !matches!(c, ';' | '&' | '|' | '(' | ')');
        let mut target = Cutter {
            chars: self.chars.clone(),
            out: Vec::new(),
            word: None,
            runs: Vec::new(),
            documents: Vec::new(),
        };
        while let Some(c) = target.chars.next_if(is_part) {
            target.part_of_word(c);
        }
        self.chars = target.chars;
        if is_document {
            self.documents.extend(target.word);
        }
    }

    fn skip_documents(&mut self) {
        for end in std::mem::take(&mut self.documents) {
            let mut line = String::new();
            loop {
                let c = self.chars.next();
                if matches!(c, None | Some('\n')) {
                    if c.is_none() || line.trim_start_matches('\t').trim_end() == end {
                        break;
                    }
                    line.clear();
                } else {
                    line.extend(c);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(line: &str) -> String {
        let parts = tokens(line).into_iter().map(|token| match token {
            Token::Word(word, runs) if runs.is_empty() => format!("[{word}]"),
            Token::Word(word, runs) => format!("[{word} runs {}]", runs.join(", ")),
            Token::And => "&&".into(),
            Token::Or => "||".into(),
            Token::Pipe => "|".into(),
            Token::Background => "&".into(),
            Token::Next => ";".into(),
            Token::Open => "(".into(),
            Token::Close => ")".into(),
        });
        parts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_operators_quotes_and_redirections() {
        for (line, wanted) in [
            ("cargo test", "[cargo] [test]"),
            ("a&&b||c|d;e&f", "[a] && [b] || [c] | [d] ; [e] & [f]"),
            ("a |& b", "[a] | [b]"),
            ("echo 'a && b' \"c ; d\" e\\ f", "[echo] [a && b] [c ; d] [e f]"),
            ("a 2>&1 >out.txt </dev/null &>all b", "[a] [b]"),
            ("a >& log 2> err && b", "[a] && [b]"),
            ("a 2>&1| b", "[a] | [b]"),
            ("a # b && c\nd", "[a] ; [d]"),
            ("a#b", "[a#b]"),
            ("x=$(a b) c", "[x= runs a b] [c]"),
            ("\"$(a \"q)\" (b))\" `c d`", "[ runs a \"q)\" (b)] [ runs c d]"),
            ("cat <<'EOF' > f && b\ncargo test\nEOF\nc", "[cat] && [b] ; [c]"),
            ("cat <<-E\n\tx\n\tE\nc", "[cat] ; [c]"),
            ("grep x <<< 'a b'", "[grep] [x]"),
            ("diff <(a b) c", "[diff] [ runs a b] [c]"),
            ("a \\\n b", "[a] [b]"),
            ("(a; b) && c", "( [a] ; [b] ) && [c]"),
            ("", ""),
            ("'open", "[open]"),
            ("a $(b", "[a] [ runs b]"),
            ("a <", "[a]"),
            ("a \\", "[a] []"),
            ("cat <<E\nnever closed", "[cat] ;"),
        ] {
            assert_eq!(written(line), wanted, "{line}");
        }
    }
}
