//! What a log has told so far, as far as a review needs it.

use crate::log::Output;
use crate::session::Damage;
use crate::session::event::{KnownText, KnownTextSource, LogEvent};
use crate::session::transcript::LongTranscript;
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) transcript: LongTranscript,
    pub(super) damages: Vec<Damage>,
    /// Git directories of the agent's own, which hold trees and known texts.
    pub(super) git_dirs: BTreeSet<String>,
}

impl Told {
    /// Nothing, to take this one's place in the end.
    pub(super) fn anew(&self) -> Self {
        Self { transcript: self.transcript.anew(), ..Self::default() }
    }

    /// Takes what the log tells; says whether it tells all anew.
    pub(super) fn take(&mut self, output: Output) -> bool {
        let mut anew = false;
        for event in output.events {
            match &event {
                LogEvent::Reset => {
                    anew = true;
                    self.damages.clear();
                    self.git_dirs.clear();
                }
                LogEvent::Trees { git_dir: Some(git_dir), .. }
                | LogEvent::KnownText(KnownText {
                    text: KnownTextSource::InTree { git_dir, .. },
                    ..
                }) => {
                    self.git_dirs.insert(git_dir.clone());
                }
                _ => {}
            }
            self.transcript.apply(event);
        }
        self.transcript.turns.pack();
        self.damages.extend(output.damages);
        anew
    }
}
