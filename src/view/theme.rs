//! Meaning → style, for as many colours as the terminal has. Themes are data (`assets/themes`).

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;
use std::collections::HashMap;

/// How many colours the terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// None: `NO_COLOR`, or a terminal without.
    None,
    /// The sixteen.
    Sixteen,
    /// The 256 of xterm.
    Indexed,
    /// 24 bits.
    True,
}

/// What a cell means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each role is its name in the theme's file")]
pub enum Role {
    Text,
    Dim,
    Heading,
    Number,
    Turn,
    Added,
    Deleted,
    Modified,
    AddedLine,
    DeletedLine,
    AddedWord,
    DeletedWord,
    Fold,
    StandIn,
    Match,
    Chosen,
    ChosenAway,
    Cursor,
    Title,
    Note,
    Status,
    Key,
    Good,
    Bad,
    Divider,
}

/// Every role with its name in a theme's file.
pub const ROLES: &[(Role, &str)] = &[
    (Role::Text, "text"),
    (Role::Dim, "dim"),
    (Role::Heading, "heading"),
    (Role::Number, "number"),
    (Role::Turn, "turn"),
    (Role::Added, "added"),
    (Role::Deleted, "deleted"),
    (Role::Modified, "modified"),
    (Role::AddedLine, "added_line"),
    (Role::DeletedLine, "deleted_line"),
    (Role::AddedWord, "added_word"),
    (Role::DeletedWord, "deleted_word"),
    (Role::Fold, "fold"),
    (Role::StandIn, "stand_in"),
    (Role::Match, "match"),
    (Role::Chosen, "chosen"),
    (Role::ChosenAway, "chosen_away"),
    (Role::Cursor, "cursor"),
    (Role::Title, "title"),
    (Role::Note, "note"),
    (Role::Status, "status"),
    (Role::Key, "key"),
    (Role::Good, "good"),
    (Role::Bad, "bad"),
    (Role::Divider, "divider"),
];

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    fg: Option<String>,
    bg: Option<String>,
    ansi: Option<String>,
    ansi_bg: Option<String>,
    bold: bool,
    plain: Option<String>,
}

/// A style for every role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    styles: Vec<Style>,
}

impl Theme {
    /// The built-in theme for a dark background.
    pub fn dark(depth: Depth) -> Self {
        Self::parse(include_str!("../../assets/themes/dark.toml"), depth).unwrap_or_default()
    }

    /// Reads a theme's file.
    ///
    /// # Errors
    /// One line that says what is wrong with it.
    pub fn parse(text: &str, depth: Depth) -> Result<Self, String> {
        let mut entries: HashMap<String, Entry> =
            toml::from_str(text).map_err(|error| error.message().to_owned())?;
        let mut styles = vec![Style::default(); ROLES.len()];
        for (role, name) in ROLES {
            let entry = entries.remove(*name).ok_or_else(|| format!("no role `{name}`"))?;
            if let Some(slot) = styles.get_mut(*role as usize) {
                *slot = entry.style(depth)?;
            }
        }
        match entries.into_keys().next() {
            Some(name) => Err(format!("there is no role `{name}`")),
            None => Ok(Self { styles }),
        }
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }
}

impl Default for Theme {
    fn default() -> Self {
        Self { styles: vec![Style::default(); ROLES.len()] }
    }
}

impl Entry {
    fn style(&self, depth: Depth) -> Result<Style, String> {
        let mut style = Style::default();
        if self.bold {
            style = style.add_modifier(Modifier::BOLD);
        }
        let (fg, bg) = match depth {
            Depth::None => {
                let modifier = self.plain.as_deref().map(modifier).transpose()?;
                return Ok(style.add_modifier(modifier.unwrap_or_default()));
            }
            Depth::Sixteen => (
                self.ansi.as_deref().map(ansi).transpose()?,
                self.ansi_bg.as_deref().map(ansi).transpose()?,
            ),
            Depth::Indexed | Depth::True => (
                self.fg.as_deref().map(|hex| color(hex, depth)).transpose()?,
                self.bg.as_deref().map(|hex| color(hex, depth)).transpose()?,
            ),
        };
        Ok(Style { fg, bg, ..style })
    }
}

fn modifier(name: &str) -> Result<Modifier, String> {
    Ok(match name {
        "dim" => Modifier::DIM,
        "underline" => Modifier::UNDERLINED,
        "reverse" => Modifier::REVERSED,
        "bold" => Modifier::BOLD,
        _ => return Err(format!("there is no style `{name}`")),
    })
}

fn ansi(name: &str) -> Result<Color, String> {
    Ok(match name {
        "black" => Color::Black,
        "red" => Color::Red,
        "green" => Color::Green,
        "yellow" => Color::Yellow,
        "blue" => Color::Blue,
        "magenta" => Color::Magenta,
        "cyan" => Color::Cyan,
        "white" => Color::White,
        "bright-black" => Color::DarkGray,
        _ => return Err(format!("`{name}` is none of the sixteen colours")),
    })
}

fn color(hex: &str, depth: Depth) -> Result<Color, String> {
    let wrong = || format!("`{hex}` is no colour like `#12ab9f`");
    let digits =
        hex.strip_prefix('#').filter(|d| d.len() == 6 && d.is_ascii()).ok_or_else(wrong)?;
    let value = u32::from_str_radix(digits, 16).map_err(|_| wrong())?;
    let [_, r, g, b] = value.to_be_bytes();
    Ok(match depth {
        Depth::True => Color::Rgb(r, g, b),
        _ => Color::Indexed(nearest(r, g, b)),
    })
}

/// The nearest of xterm's cube (16 to 231) and greys (232 to 255).
fn nearest(r: u8, g: u8, b: u8) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let distance = |(x, y, z): (u8, u8, u8)| {
        let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
        square(x, r) + square(y, g) + square(z, b)
    };
    let step = |value: u8| {
        let near = |at: &u8| STEPS.get(usize::from(*at)).map_or(u8::MAX, |s| s.abs_diff(value));
        (0..6u8).min_by_key(near).unwrap_or(0)
    };
    let value = |at: u8| STEPS.get(usize::from(at)).copied().unwrap_or(0);
    let (cr, cg, cb) = (step(r), step(g), step(b));
    let cube = (value(cr), value(cg), value(cb));
    let average = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
    let grey_at = (average.saturating_sub(3) / 10).min(23) as u8;
    let grey = 8 + 10 * grey_at;
    if distance((grey, grey, grey)) < distance(cube) {
        232 + grey_at
    } else {
        16 + 36 * cr + 6 * cg + cb
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_theme_names_every_role_in_its_place() {
        for depth in [Depth::None, Depth::Sixteen, Depth::Indexed, Depth::True] {
            let parsed = Theme::parse(include_str!("../../assets/themes/dark.toml"), depth);
            assert_eq!(parsed.as_ref().err(), None);
        }
        for (at, (role, _)) in ROLES.iter().enumerate() {
            assert_eq!(*role as usize, at);
        }
    }

    #[test]
    fn a_wrong_theme_is_told_in_one_line() {
        assert_eq!(Theme::parse("", Depth::True).err().as_deref(), Some("no role `text`"));
        assert!(color("red", Depth::True).is_err() && color("#12345é", Depth::True).is_err());
    }

    #[test]
    fn the_nearest_of_256() {
        assert_eq!([nearest(0, 0, 0), nearest(255, 255, 255), nearest(255, 0, 0)], [16, 231, 196]);
        assert_eq!(nearest(0x22, 0x27, 0x2e), 235);
    }

    #[test]
    fn without_colour_nothing_is_coloured() {
        let theme = Theme::dark(Depth::None);
        assert!(theme.styles.iter().all(|style| style.fg.is_none() && style.bg.is_none()));
    }
}
