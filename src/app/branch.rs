//! Which branch of the session is shown, where the agent went back and on from an earlier turn.

use super::App;
use super::event::Effect;
use crate::session::Branch;

/// Shows the next branch; behind the last one comes the first.
pub(super) fn next(app: &mut App) -> Vec<Effect> {
    let Some(branch) = app.info.branch else {
        app.message = Some("this session has one branch".into());
        return Vec::new();
    };
    let next = branch.shown % branch.total + 1;
    app.begin_session();
    // The live one is followed, wherever it goes.
    vec![Effect::ShowBranch(Some(next).filter(|next| *next != branch.live))]
}

/// The branch that is shown, in words, if the agent has left it.
pub fn words(branch: Branch) -> Option<String> {
    branch.is_aside().then(|| format!("branch {} of {}", branch.shown, branch.total))
}
