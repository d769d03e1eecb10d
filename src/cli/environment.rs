//! What the commands are given: options over settings file over defaults, and the places of this machine.

use super::args::{ColorWhen, Common};
use super::config::{Config, LayoutSetting};
use crate::app::Choices;
use crate::content::objects::MAX_FILE_BYTES;
use crate::layout::{LAYOUTS, LayoutChoice};
use crate::log::Places;
use crate::reader::ReadOptions;
use crate::store::default_root;
use crate::view::Depth;
use std::collections::HashMap;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The command line, the settings and the machine, as the commands want them.
#[derive(Debug)]
pub(super) struct Environment {
    pub(super) session: Option<String>,
    pub(super) format: Option<String>,
    pub(super) branch: Option<u32>,
    /// The directory that stands for the current one; absolute.
    pub(super) cwd: PathBuf,
    /// Whether `--cwd` was given: it then stands for a session's own too.
    pub(super) is_cwd_given: bool,
    pub(super) places: Places,
    pub(super) store: PathBuf,
    pub(super) objects: Vec<PathBuf>,
    pub(super) git_dir: Option<PathBuf>,
    pub(super) context: u32,
    pub(super) diff_timeout: Duration,
    /// None: nobody said; files that were named one by one are then compared whatever their size.
    pub(super) max_file_bytes: Option<u64>,
    pub(super) max_files: usize,
    pub(super) no_record: bool,
    pub(super) config: Config,
    color: ColorWhen,
}

impl Environment {
    pub(super) fn of(common: &Common) -> anyhow::Result<Self> {
        let current = env::current_dir()?;
        let absolute = |path: &PathBuf| current.join(path);
        let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let config_home = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let config_home = config_home.filter(|path| path.is_absolute());
        let config_home = config_home.unwrap_or_else(|| home.join(".config"));
        let config = match &common.config {
            Some(path) => Config::read(path, true)?,
            None => Config::read(&config_home.join("handback/config.toml"), false)?,
        };
        let state_home = env::var_os("XDG_STATE_HOME");
        let store = common.store.as_ref().or(config.store.path.as_ref());
        let objects = common.objects.iter().chain(&config.objects);
        Ok(Self {
            session: common.session.clone(),
            format: common.format.clone().filter(|name| name != "auto"),
            branch: common.branch,
            cwd: common.cwd.as_ref().map_or_else(|| current.clone(), absolute),
            is_cwd_given: common.cwd.is_some(),
            store: store.map_or_else(|| default_root(state_home.as_deref(), &home), absolute),
            objects: objects.map(absolute).collect(),
            git_dir: common.git_dir.as_ref().map(absolute),
            context: common.context.or(config.context).unwrap_or(3),
            diff_timeout: Duration::from_millis(
                common.diff_timeout_ms.or(config.diff_timeout_ms).unwrap_or(100),
            ),
            max_file_bytes: common.max_file_bytes.or(config.max_file_bytes),
            max_files: common.max_files.or(config.max_files).unwrap_or(500),
            no_record: common.no_record || config.no_record,
            color: common.color.or(config.color).unwrap_or_default(),
            places: Places { home, env: variables() },
            config,
        })
    }

    /// How a session is read.
    pub(super) fn read_options(&self) -> ReadOptions {
        ReadOptions {
            format: self.format.clone(),
            cwd: self.is_cwd_given.then(|| self.cwd.clone()),
            home: self.places.home.clone(),
            git_dir: self.git_dir.clone(),
            objects: self.objects.clone(),
            max_file_bytes: self.max_file_bytes.unwrap_or(MAX_FILE_BYTES),
            store: Some(self.store.clone()),
            branch: self.branch,
        }
    }

    /// How the reviewer begins.
    pub(super) fn choices(&self) -> Choices {
        let split = |wanted| LAYOUTS.iter().position(|layout| layout.is_split() == wanted);
        let layout = match self.config.layout {
            LayoutSetting::Auto => None,
            LayoutSetting::Unified => split(false),
            LayoutSetting::SideBySide => split(true),
        };
        Choices {
            layout: layout.map_or(LayoutChoice::Auto, LayoutChoice::Fixed),
            wrap: self.config.wrap,
            context: self.context,
            ..Choices::default()
        }
    }

    /// How many colours the terminal shows.
    pub(super) fn depth(&self) -> Depth {
        let variable = |name: &str| env::var(name).unwrap_or_default();
        let term = variable("TERM");
        let full = matches!(variable("COLORTERM").as_str(), "truecolor" | "24bit");
        let no_color = !variable("NO_COLOR").is_empty() || matches!(term.as_str(), "dumb" | "");
        match self.color {
            ColorWhen::Never => Depth::None,
            ColorWhen::Auto if no_color => Depth::None,
            _ if full => Depth::True,
            _ if term.contains("256color") || term.contains("direct") => Depth::Indexed,
            _ => Depth::Sixteen,
        }
    }

    /// Whether the terminal fills erased cells with the background colour (terminfo's `bce`).
    pub(super) fn erases_in_colour() -> bool {
        let term = env::var("TERM").unwrap_or_default();
        !["screen", "linux", "vt", "ansi", "dumb"].iter().any(|name| term.starts_with(name))
    }

    /// A path as given, from the current directory.
    pub(super) fn path(&self, given: &Path) -> PathBuf {
        self.cwd.join(given)
    }
}

/// Environment variables that are text; others say nothing to us.
fn variables() -> HashMap<String, String> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    env::vars_os().filter_map(text).collect()
}
