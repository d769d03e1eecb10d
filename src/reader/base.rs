//! What changes are taken against.

/// What the diff of a turn is against.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Base {
    /// What was there when the turn began: what this turn changed.
    #[default]
    Turn,
    /// What was there when the turn began, up to the newest turn.
    Since,
    /// What was there when the session began, up to the newest turn.
    Session,
    /// The commit that is checked out.
    Head,
    /// The newest commit shared with the upstream branch.
    MergeBase,
}

impl Base {
    /// The one after it, round the end.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Turn => Self::Since,
            Self::Since => Self::Session,
            Self::Session => Self::Head,
            Self::Head => Self::MergeBase,
            Self::MergeBase => Self::Turn,
        }
    }

    /// Whether it is a commit, which may not be there.
    pub fn is_commit(self) -> bool {
        matches!(self, Self::Head | Self::MergeBase)
    }

    /// Whether the answer differs from turn to turn.
    pub fn is_of_turn(self) -> bool {
        matches!(self, Self::Turn | Self::Since)
    }
}
