//! A command line → its commands and how they are joined.

use super::tools::kind_of_words;
use super::words::{Token, tokens};
use super::wrap::{Real, name_of, unwrapped};
use crate::session::CommandKind;
use std::iter::Peekable;
use std::vec::IntoIter;

/// So deep may groups and shells stand in one another; what is deeper is not looked at.
const MAX_DEPTH: u32 = 16;

/// A command line.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not exclude each other")]
pub(super) struct Line {
    pub(super) steps: Vec<Step>,
    /// The strongest kind among its commands.
    pub(super) kind: CommandKind,
    /// Its status cannot be followed: there is a loop or a condition in it, or what gives its kind
    /// runs in the background or in a substitution.
    pub(super) is_unclear: bool,
    /// A filter behind what gives its kind lets through what went well and not what failed.
    pub(super) picks_success: bool,
    /// `set -o pipefail` stands in it.
    pub(super) pipefail: bool,
    /// `set -e` stands in it.
    pub(super) errexit: bool,
}

/// One pipeline and how it hangs on the one before.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) joint: Joint,
    /// `!` stands before it.
    pub(super) negated: bool,
    /// Joined by pipes.
    pub(super) stages: Vec<Stage>,
}

/// When a pipeline runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// Whatever happened before.
    Always,
    /// After a success.
    And,
    /// After a failure.
    Or,
}

/// One command of a pipeline.
#[derive(Debug)]
pub(super) enum Stage {
    /// A program with its arguments, without what only wraps it.
    Program(Vec<String>, CommandKind),
    /// Commands in parentheses, or run by a shell of their own: `exit` ends no more than these.
    Shell(Line),
    /// Commands in braces.
    Group(Line),
}

impl Stage {
    pub(super) fn kind(&self) -> CommandKind {
        match self {
            Self::Program(_, kind) => *kind,
            Self::Shell(line) | Self::Group(line) => line.kind,
        }
    }
}

/// Programs that let lines through by what stands in them.
const FILTERS: &[&str] = &["grep", "egrep", "fgrep", "rg", "ag", "ack"];

impl Stage {
    /// Whether it lets through what went well and not what failed, of what runs before it.
    fn picks_success(&self, before: CommandKind) -> bool {
        let words = match self {
            Self::Shell(line) | Self::Group(line) => return line.picks_success,
            Self::Program(words, _) => words,
        };
        let is_filter = words.first().is_some_and(|word| FILTERS.contains(&name_of(word)));
        if before == CommandKind::Other || !is_filter || words.iter().any(|word| word == "-v") {
            return false;
        }
        let wanted = words.get(1..).unwrap_or_default().join(" ").to_lowercase();
        let names = |parts: &[&str]| parts.iter().any(|part| wanted.contains(part));
        names(&["ok", "pass", "success"]) && !names(&["fail", "err"])
    }
}

/// How much a kind tells: a line is what its strongest command is.
pub(super) fn stronger(one: CommandKind, other: CommandKind) -> CommandKind {
    let strength = |kind| match kind {
        CommandKind::Test => 3,
        CommandKind::Build => 2,
        CommandKind::Lint => 1,
        CommandKind::Other => 0,
    };
    if strength(other) > strength(one) { other } else { one }
}

/// Reads a command line.
pub(super) fn parse(line: &str) -> Line {
    parse_at(line, 0)
}

fn parse_at(line: &str, depth: u32) -> Line {
    if depth > MAX_DEPTH {
        return Line { is_unclear: true, ..Line::default() };
    }
    let mut parser = Parser { tokens: tokens(line).into_iter().peekable(), depth };
    let mut whole = parser.line(End::Input);
    // A parenthesis that closes nothing: a pattern of `case`, or a slip.
    while parser.tokens.peek().is_some() {
        let more = parser.line(End::Input);
        whole.is_unclear = true;
        whole.kind = stronger(whole.kind, more.kind);
        whole.steps.extend(more.steps);
    }
    whole
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Input,
    Parenthesis,
    Brace,
}

struct Parser {
    tokens: Peekable<IntoIter<Token>>,
    depth: u32,
}

/// Words before a command that only say when it runs.
const LEADING: &[&str] = &["if", "then", "elif", "else", "while", "until", "do"];
/// Words that begin or end what is no command by itself.
const FLOW: &[&str] = &["for", "case", "select", "function", "fi", "done", "esac", "coproc"];

impl Parser {
    /// Up to what ends it; a `)` that closes nothing ends a line, too.
    fn line(&mut self, end: End) -> Line {
        let mut line = Line::default();
        let mut joint = Joint::Always;
        loop {
            let step = self.pipeline(joint, &mut line);
            if !step.stages.is_empty() {
                line.steps.push(step);
            }
            joint = match self.tokens.next() {
                Some(Token::Close) if end == End::Brace => {
                    line.is_unclear = true;
                    Joint::Always
                }
                None | Some(Token::Close) => break,
                Some(Token::Word(..)) if end == End::Brace => break,
                Some(Token::And) => Joint::And,
                Some(Token::Or) => Joint::Or,
                Some(Token::Background) => {
                    let behind = line.steps.last().map(|step| step.stages.as_slice());
                    line.is_unclear |= behind.is_some_and(|stages| {
                        stages.iter().any(|s| s.kind() != CommandKind::Other)
                    });
                    Joint::Always
                }
                Some(_) => Joint::Always,
            };
        }
        line
    }

    fn pipeline(&mut self, joint: Joint, line: &mut Line) -> Step {
        let mut step = Step { joint, negated: false, stages: Vec::new() };
        let mut before = CommandKind::Other;
        loop {
            if let Some(stage) = self.stage(&mut step.negated, line) {
                line.picks_success |= stage.picks_success(before);
                before = stronger(before, stage.kind());
                line.kind = stronger(line.kind, stage.kind());
                step.stages.push(stage);
            }
            if self.tokens.next_if_eq(&Token::Pipe).is_none() {
                return step;
            }
        }
    }

    fn stage(&mut self, negated: &mut bool, line: &mut Line) -> Option<Stage> {
        if self.tokens.next_if_eq(&Token::Open).is_some() {
            let group = self.nested(End::Parenthesis);
            return Some(Stage::Shell(group));
        }
        let mut words = Vec::new();
        loop {
            match self.tokens.peek() {
                Some(Token::Word(word, _)) if words.is_empty() && word == "{" => {
                    self.tokens.next();
                    let group = self.nested(End::Brace);
                    return Some(Stage::Group(group));
                }
                // It closes a group: the group's line takes it.
                Some(Token::Word(word, _)) if words.is_empty() && word == "}" => return None,
                Some(Token::Word(..)) => {}
                // `name()`: a function, which is not run here.
                Some(Token::Open) => {
                    self.tokens.next();
                    line.is_unclear = true;
                    continue;
                }
                _ => break,
            }
            let Some(Token::Word(word, runs)) = self.tokens.next() else { break };
            for run in runs {
                let inner = parse_at(&run, self.depth + 1);
                if inner.kind != CommandKind::Other {
                    line.kind = stronger(line.kind, inner.kind);
                    line.is_unclear = true;
                }
            }
            if words.is_empty() {
                if word == "!" {
                    *negated = !*negated;
                    continue;
                }
                if LEADING.contains(&word.as_str()) {
                    line.is_unclear = true;
                    continue;
                }
                line.is_unclear |= FLOW.contains(&word.as_str());
            }
            words.push(word);
        }
        self.program(&words, line)
    }

    fn nested(&mut self, end: End) -> Line {
        if self.depth >= MAX_DEPTH {
            // Everything that is left is eaten, so that this ends.
            self.tokens.by_ref().for_each(drop);
            return Line { is_unclear: true, ..Line::default() };
        }
        self.depth += 1;
        let group = self.line(end);
        self.depth -= 1;
        group
    }

    fn program(&self, words: &[String], line: &mut Line) -> Option<Stage> {
        if words.first().is_some_and(|word| word == "set") {
            let options = || words.iter().skip(1).filter(|word| word.starts_with('-'));
            line.errexit |= options().any(|word| word.contains('e'));
            line.pipefail |= words.iter().any(|word| word == "pipefail");
        }
        match unwrapped(words)? {
            Real::Words(words) => {
                let kind = kind_of_words(&words);
                Some(Stage::Program(words, kind))
            }
            Real::Line { text, options } => {
                let mut inner = parse_at(&text, self.depth + 1);
                inner.pipefail |= options.iter().any(|word| word == "pipefail");
                inner.errexit |=
                    options.iter().any(|word| word.starts_with('-') && word.contains('e'));
                Some(Stage::Shell(inner))
            }
        }
    }
}
