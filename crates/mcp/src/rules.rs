//! Rules of the user for one server's tools: which are offered, under which names, with which tier.

use haft_config::{McpServer, NewTools, pattern_matcher, pattern_strength};
use haft_tool::Tier;

use crate::ToolDefinition;

/// Rules for the tools of one server.
pub trait Rules {
    /// Returns true if the tool of this upstream name is offered.
    fn takes(&self, name: &str) -> bool;

    /// Returns the name under which the tool is offered.
    fn offered_name(&self, name: &str) -> String;

    /// Returns the tier of the tool's calls. Hints of a server count only if the user trusts it.
    fn tier(&self, tool: &ToolDefinition) -> Tier;
}

/// The rules as the configuration has them.
#[derive(Clone, Copy, Debug)]
pub struct ServerRules<'a>(pub &'a McpServer);

impl ServerRules<'_> {
    /// Returns true if tools that the server did not have before are offered at once.
    pub fn offers_new_tools(&self) -> bool {
        self.0.new_tools.unwrap_or_default() == NewTools::Offer
    }
}

impl Rules for ServerRules<'_> {
    fn takes(&self, name: &str) -> bool {
        let matches = |pattern: &String| is_match(pattern, name);
        let is_included = self.0.include.is_empty() || self.0.include.iter().any(matches);
        is_included && !self.0.exclude.iter().any(matches)
    }

    fn offered_name(&self, name: &str) -> String {
        let prefix = self.0.prefix.as_deref().unwrap_or_default();
        let name = self.0.rename.get(name).map_or(name, String::as_str);
        format!("{prefix}{name}")
    }

    fn tier(&self, tool: &ToolDefinition) -> Tier {
        let matching = self.0.approval.iter();
        let matching = matching.filter(|(pattern, _)| is_match(pattern, &tool.name));
        let strongest = matching.max_by_key(|(pattern, _)| pattern_strength(pattern));
        match strongest {
            Some((_, tier)) => *tier,
            None if self.0.trusted == Some(true) => tool.claimed_tier(),
            None => Tier::Exec,
        }
    }
}

/// Returns true if the pattern matches. One that cannot be parsed matches only the name that it is.
fn is_match(pattern: &str, name: &str) -> bool {
    match pattern_matcher(pattern) {
        Ok(matcher) => matcher.is_match(name),
        Err(_) => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str, is_read_only: bool) -> ToolDefinition {
        ToolDefinition {
            annotations: Some(json!({"readOnlyHint": is_read_only})),
            ..ToolDefinition::named(name)
        }
    }

    fn strings(all: &[&str]) -> Vec<String> {
        all.iter().map(|&one| one.to_owned()).collect()
    }

    #[test]
    fn excluded_tools_are_not_offered() {
        let server = McpServer {
            include: strings(&["*issue*"]),
            exclude: strings(&["*delete*"]),
            ..McpServer::default()
        };
        let rules = ServerRules(&server);
        assert!(rules.takes("create_issue"));
        assert!(!rules.takes("delete_issue"));
        assert!(!rules.takes("create_branch"));
        assert!(ServerRules(&McpServer::default()).takes("anything"));
    }

    #[test]
    fn names_are_replaced_before_the_prefix() {
        let server = McpServer {
            prefix: Some("gh_".to_owned()),
            rename: [("create_issue".to_owned(), "new_issue".to_owned())].into(),
            ..McpServer::default()
        };
        let rules = ServerRules(&server);
        assert_eq!(rules.offered_name("create_issue"), "gh_new_issue");
        assert_eq!(rules.offered_name("other"), "gh_other");
    }

    #[test]
    fn hints_count_only_for_trusted_servers() {
        let stranger = McpServer::default();
        assert_eq!(ServerRules(&stranger).tier(&tool("get", true)), Tier::Exec);
        let trusted = McpServer {
            trusted: Some(true),
            approval: [("get_*".to_owned(), Tier::Write)].into(),
            ..McpServer::default()
        };
        let rules = ServerRules(&trusted);
        assert_eq!(rules.tier(&tool("get", true)), Tier::Read);
        assert_eq!(rules.tier(&tool("get", false)), Tier::Exec);
        assert_eq!(rules.tier(&tool("get_all", true)), Tier::Write);
    }

    #[test]
    fn the_more_specific_pattern_decides() {
        let server = McpServer {
            approval: [
                ("*".to_owned(), Tier::Exec),
                ("create_*".to_owned(), Tier::Write),
                ("create_all".to_owned(), Tier::Read),
            ]
            .into(),
            ..McpServer::default()
        };
        let rules = ServerRules(&server);
        assert_eq!(rules.tier(&tool("create_one", false)), Tier::Write);
        assert_eq!(rules.tier(&tool("create_all", false)), Tier::Read);
        assert_eq!(rules.tier(&tool("x", false)), Tier::Exec);
    }
}
