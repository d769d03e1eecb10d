//! The settings file: the same settings as the command line's, under the same names.

use super::args::ColorWhen;
use serde::Deserialize;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What `config.toml` may hold. An unknown name is an error: a misspelt setting would do nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Config {
    pub(super) store: StoreConfig,
    pub(super) record: RecordConfig,
    pub(super) objects: Vec<PathBuf>,
    pub(super) context: Option<u32>,
    pub(super) diff_timeout_ms: Option<u64>,
    pub(super) max_file_bytes: Option<u64>,
    pub(super) max_files: Option<usize>,
    pub(super) no_record: bool,
    pub(super) color: Option<ColorWhen>,
    pub(super) layout: LayoutSetting,
    pub(super) wrap: bool,
}

/// `layout`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LayoutSetting {
    /// By the width of the viewer.
    #[default]
    Auto,
    Unified,
    SideBySide,
}

/// `[store]`: where recordings are kept, and for how long.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct StoreConfig {
    pub(super) path: Option<PathBuf>,
    /// Days.
    pub(super) max_age: Option<u32>,
    pub(super) max_bytes: Option<u64>,
}

/// `[record]`: what is kept.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RecordConfig {
    /// Globs of files whose content is not kept.
    pub(super) exclude: Vec<String>,
    /// What one turn may add, in bytes.
    pub(super) max_bytes: Option<u64>,
}

impl Config {
    /// Reads the file. A missing one is as good as an empty one, unless it was `named`.
    pub(super) fn read(path: &Path, named: bool) -> anyhow::Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound && !named => {
                return Ok(Self::default());
            }
            Err(error) => anyhow::bail!("{}: {error}", path.display()),
        };
        toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map_or(1, |before| before.matches('\n').count() + 1);
            let message = error.message().replace('\n', " ");
            anyhow::anyhow!("{}: line {line}: {message}", path.display())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_setting_is_told_with_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.toml");
        std::fs::write(&path, "context = 5\n\ncolour = \"never\"\n").unwrap();
        let error = Config::read(&path, true).unwrap_err().to_string();
        assert!(error.contains("line 3") && error.contains("colour"), "{error}");
        assert!(Config::read(&directory.path().join("none"), true).is_err());
        assert!(Config::read(&directory.path().join("none"), false).is_ok());
    }
}
