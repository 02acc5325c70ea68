//! The variables and folders that a tool runs with (spec cycod 73–79, 238–246).

/// `environment:`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Environment {
    /// Name → text with `{references}`, in the file's order. Names are valid and come once.
    pub(crate) variables: Vec<(String, String)>,
    /// True if the host's own variables are kept.
    pub(crate) inherit: bool,
    /// Names of variables and parameters whose values are masked wherever they come out.
    pub(crate) secrets: Vec<String>,
}

/// `file-paths:`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FilePaths {
    pub(crate) normalize: bool,
    pub(crate) working_directory: Option<String>,
    pub(crate) temp_directory: Option<String>,
    /// `cross-platform.windows-separator`; `None`: `\`.
    pub(crate) windows_separator: Option<String>,
    /// `cross-platform.unix-separator`; `None`: `/`.
    pub(crate) unix_separator: Option<String>,
    /// `cross-platform.auto-convert`.
    pub(crate) auto_convert: bool,
}

impl Default for Environment {
    fn default() -> Self {
        Environment {
            variables: Vec::new(),
            inherit: true,
            secrets: Vec::new(),
        }
    }
}
