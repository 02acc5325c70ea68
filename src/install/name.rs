//! Maps an import specifier to the name of a package that may be requested from a registry.
//!
//! Specifiers are text of an untrusted file. Text that is not a package name never reaches npm,
//! where it could mean a folder, a URL or an option.

/// npm's own limit.
const MAX_LENGTH: usize = 214;

/// Scopes whose packages are those of an agent: haft is the host that provides them.
const AGENT_SCOPES: &[&str] = &["@oh-my-pi/", "@mariozechner/", "@earendil-works/"];

/// Meaning of a missing specifier.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted<'a> {
    /// A package of this name.
    Package(&'a str),
    /// A file or a private import of the tool's own package; it is in no registry.
    Own,
    /// A specifier that no installation can provide, with the reason.
    Refused(&'static str),
}

/// Returns the meaning of a missing specifier.
pub(super) fn wanted(specifier: &str) -> Wanted<'_> {
    if specifier.is_empty() || specifier.starts_with(['.', '/', '#', '\\']) {
        return Wanted::Own;
    }
    if let Some((scheme, _)) = specifier.split_once(':') {
        return Wanted::Refused(match scheme {
            "npm" | "jsr" | "http" | "https" => {
                "haft imports files and installed packages only; import the package by its name"
            }
            "bun" | "node" => "a module of the runtime, and haft does not have it",
            _ => "not the name of an npm package",
        });
    }
    let package = package_of(specifier);
    match is_package_name(package) {
        true if is_of_agent(package) && haft_engine::is_provided(package) => {
            Wanted::Refused("haft provides this package, without this part of it")
        }
        true => Wanted::Package(package),
        false => Wanted::Refused("not the name of an npm package"),
    }
}

/// True for a package of an agent, in whose place haft provides it.
pub(super) fn is_of_agent(package: &str) -> bool {
    AGENT_SCOPES.iter().any(|scope| package.starts_with(scope))
}

/// `@scope/name/sub/path` → `@scope/name`, `name/sub` → `name`.
fn package_of(specifier: &str) -> &str {
    let slashes = if specifier.starts_with('@') { 2 } else { 1 };
    match specifier.match_indices('/').nth(slashes - 1) {
        Some((at, _)) => &specifier[..at],
        None => specifier,
    }
}

/// Endings that npm always treats as a file.
const ARCHIVES: [&str; 3] = [".tgz", ".tar", ".tar.gz"];

/// True if npm takes this as the name of a package. Capital letters are allowed: old packages have
/// them.
pub(super) fn is_package_name(name: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-._~".contains(c))
    };
    let is_valid = match name.strip_prefix('@') {
        Some(scoped) => scoped
            .split_once('/')
            .is_some_and(|(scope, name)| is_part(scope) && is_part(name)),
        None => is_part(name),
    };
    let is_archive = ARCHIVES
        .iter()
        .any(|end| name.to_lowercase().ends_with(end));
    is_valid
        && !is_archive
        && name.len() <= MAX_LENGTH
        && !matches!(name, "node_modules" | "favicon.ico")
}
