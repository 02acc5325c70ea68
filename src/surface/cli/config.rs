//! `haft config`: lists the settings with their values and sources.

use super::exit::{Failure, SUCCESS};
use super::flags::Globals;
use crate::surface::stdout::Out;
use haft_config::Config;
use haft_render::table::{self, Column, Fit};

const COLUMNS: [Column; 3] = [
    Column {
        title: "SETTING",
        fit: Fit::Whole,
    },
    Column {
        title: "VALUE",
        fit: Fit::KeepStart(20),
    },
    Column {
        title: "SOURCE",
        fit: Fit::KeepEnd(20),
    },
];

/// Show every setting, its value, and the file, variable or flag that sets it
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft config
  haft config --schema > config.schema.json")]
pub(super) struct Args {
    /// Print the JSON Schema of config.yaml, for editors
    #[arg(long)]
    schema: bool,
}

impl Args {
    pub(super) fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        if self.schema {
            out.data(&format!("{:#}\n", Config::schema()))?;
            return Ok(SUCCESS);
        }
        let mut rows = Vec::new();
        for setting in globals.config()?.settings() {
            if setting.written.is_empty() {
                let default = setting.default.unwrap_or_default().to_owned();
                rows.push(vec![setting.key.clone(), default, "default".to_owned()]);
            }
            for (source, value) in setting.written {
                rows.push(vec![setting.key.clone(), value, source.to_string()]);
            }
        }
        let page = table::render(&COLUMNS, &rows, out.width(), out.ink());
        out.print(&page)?;
        Ok(SUCCESS)
    }
}
