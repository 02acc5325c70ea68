//! Order in which defaults are computed (spec cycod 52).

use super::super::definition::Parameter;
use super::template::{Head, Names, Template};

/// Returns the parameters sorted so that each comes after those that its default refers to. A
/// definition has no cycles among them.
pub(super) fn in_order(parameters: &[Parameter]) -> Vec<&Parameter> {
    struct Others<'a>(&'a [Parameter]);
    impl Names for Others<'_> {
        fn knows(&self, name: &str) -> bool {
            self.0.iter().any(|parameter| parameter.name == name)
        }
        fn has_step(&self, _name: &str) -> bool {
            false
        }
    }
    let wants = |parameter: &Parameter| {
        let mut found = Vec::new();
        if let Some(default) = parameter
            .default
            .as_ref()
            .filter(|_| parameter.is_default_computed)
        {
            default.texts(&mut found);
        }
        let templates = found
            .into_iter()
            .map(|text| Template::parse(text, &Others(parameters)));
        let references = templates.flat_map(|template| {
            template
                .references()
                .map(|found| found.head.clone())
                .collect::<Vec<_>>()
        });
        references.collect::<Vec<Head>>()
    };
    let mut waiting: Vec<(&Parameter, Vec<Head>)> = parameters
        .iter()
        .map(|parameter| (parameter, wants(parameter)))
        .collect();
    let mut ordered = Vec::new();
    while !waiting.is_empty() {
        let names: Vec<String> = waiting.iter().map(|(own, _)| own.name.clone()).collect();
        let is_ready = |heads: &[Head]| {
            !heads
                .iter()
                .any(|head| matches!(head, Head::Name(name) if names.contains(name)))
        };
        let (ready, rest): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(_, heads)| is_ready(heads));
        if ready.is_empty() {
            ordered.extend(rest.into_iter().map(|(parameter, _)| parameter));
            break;
        }
        ordered.extend(ready.into_iter().map(|(parameter, _)| parameter));
        waiting = rest;
    }
    ordered
}
