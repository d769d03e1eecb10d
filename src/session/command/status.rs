//! What the exit status of a command line says of the commands in it that give it its kind.
//!
//! A pipe, `|| true` or `; echo` hides a status. So the line is walked as a shell walks it, with
//! every status that each command can have, and what is left is what fits the status that was seen.

use super::line::{Joint, Line, Stage, Step};
use crate::session::{CommandKind, CommandOutcome};

/// One way how it can have gone so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    /// The last status is 0.
    zero: bool,
    /// Every command of the line's kind that was to run did, and passed, and so did what was to
    /// run only after its success.
    good: bool,
    /// The shell has ended.
    over: bool,
}

/// How the commands that give a line its kind went, if the line's status was 0 or was not; unknown
/// where both are possible.
pub(super) fn told_by_status(line: &Line, is_zero: bool) -> CommandOutcome {
    if line.is_unclear || line.kind == CommandKind::Other {
        return match (line.kind, is_zero) {
            (CommandKind::Other, true) => CommandOutcome::Passed,
            (CommandKind::Other, false) => CommandOutcome::Failed,
            _ => CommandOutcome::Unknown,
        };
    }
    let walk = Walk { kind: line.kind };
    let ways = walk.line(line, Way { zero: true, good: true, over: false }, false);
    let mut fitting = ways.iter().filter(|way| way.zero == is_zero);
    let Some(first) = fitting.next() else { return CommandOutcome::Unknown };
    match (first.good, fitting.all(|way| way.good == first.good)) {
        (true, true) => CommandOutcome::Passed,
        (false, true) => CommandOutcome::Failed,
        _ => CommandOutcome::Unknown,
    }
}

struct Walk {
    kind: CommandKind,
}

/// Adds a way once.
fn add(ways: &mut Vec<Way>, way: Way) {
    if !ways.contains(&way) {
        ways.push(way);
    }
}

impl Walk {
    fn line(&self, line: &Line, from: Way, pipefail: bool) -> Vec<Way> {
        let pipefail = pipefail || line.pipefail;
        let mut ways = vec![from];
        // Whether a command of the kind stands before, in the same chain of `&&`.
        let mut depends = false;
        for (at, step) in line.steps.iter().enumerate() {
            if step.joint != Joint::And {
                depends = false;
            }
            let joined = line.steps.get(at + 1).is_some_and(|next| next.joint != Joint::Always);
            let ends = line.errexit && !joined;
            let mut next = Vec::new();
            for way in ways {
                for mut after in self.step(step, way, pipefail) {
                    let ran = !way.over && runs(step.joint, way.zero);
                    after.good &= !(depends && ran && !after.zero);
                    after.over |= ends && ran && !after.zero;
                    add(&mut next, after);
                }
            }
            ways = next;
            depends |= self.is_of_kind(step);
        }
        ways
    }

    fn is_of_kind(&self, step: &Step) -> bool {
        step.stages.iter().any(|stage| stage.kind() == self.kind)
    }

    fn step(&self, step: &Step, way: Way, pipefail: bool) -> Vec<Way> {
        if way.over || !runs(step.joint, way.zero) {
            // What `||` leaves out was not to run.
            let missed = self.is_of_kind(step) && (way.over || step.joint == Joint::And);
            return vec![Way { good: way.good && !missed, ..way }];
        }
        let is_single = step.stages.len() == 1;
        let mut ways = vec![Way { zero: true, ..way }];
        for stage in &step.stages {
            let mut next = Vec::new();
            for before in ways {
                let from = Way { zero: way.zero, ..before };
                for mut after in self.stage(stage, from, pipefail) {
                    after.zero &= !pipefail || before.zero;
                    // In a pipe each command has a shell of its own.
                    after.over &= is_single;
                    add(&mut next, after);
                }
            }
            ways = next;
        }
        for way in &mut ways {
            way.zero ^= step.negated && !way.over;
        }
        ways
    }

    fn stage(&self, stage: &Stage, way: Way, pipefail: bool) -> Vec<Way> {
        match stage {
            Stage::Program(words, kind) => self.program(words, *kind, way),
            Stage::Group(line) | Stage::Shell(line) if line.is_unclear => {
                // What was of the kind in it may have failed whatever the status.
                let can_hide = line.kind == self.kind;
                let statuses = [true, false].into_iter();
                let ways = |zero| {
                    let good = way.good && !can_hide;
                    [Way { zero, ..way }, Way { zero, good, ..way }]
                };
                statuses.flat_map(ways).collect()
            }
            Stage::Group(line) => self.line(line, way, pipefail),
            Stage::Shell(line) => {
                let mut ways = self.line(line, way, pipefail);
                for way in &mut ways {
                    way.over = false;
                }
                ways
            }
        }
    }

    fn program(&self, words: &[String], kind: CommandKind, way: Way) -> Vec<Way> {
        let name = words.first().map(String::as_str).unwrap_or_default();
        let argument = words.get(1).map(String::as_str);
        let pass = Way { zero: true, ..way };
        let fail = Way { zero: false, ..way };
        match name {
            _ if kind == self.kind => vec![pass, Way { good: false, ..fail }],
            ":" | "true" | "echo" | "printf" | "set" | "export" => vec![pass],
            "false" => vec![fail],
            "exit" | "return" => {
                let ways: &[Way] = match argument.map(str::parse::<i32>) {
                    None => &[way],
                    Some(Ok(0)) => &[pass],
                    Some(Ok(_)) => &[fail],
                    Some(Err(_)) => &[pass, fail],
                };
                ways.iter().map(|way| Way { over: true, ..*way }).collect()
            }
            _ => vec![pass, fail],
        }
    }
}

fn runs(joint: Joint, zero: bool) -> bool {
    match joint {
        Joint::Always => true,
        Joint::And => zero,
        Joint::Or => !zero,
    }
}
