//! What the parts of one tool say of each other: steps that wait for steps, defaults that refer to
//! parameters. What they say of other tools is for the shelf.

use std::collections::HashMap;

use super::super::definition::{Datum, Definition, Place, Step};
use super::super::format::nearest;
use super::super::references::references;
use super::super::report::Report;

pub(super) fn check(definition: &Definition, report: &mut Report<'_>) {
    waits(definition.steps(), report);
    defaults(definition, report);
}

/// Unknown steps, a step that waits for itself, circles (spec cycod 93).
fn waits(steps: &[Step], report: &mut Report<'_>) {
    let places: HashMap<&str, usize> = steps
        .iter()
        .enumerate()
        .map(|(place, step)| (step.name.as_str(), place))
        .collect();
    for step in steps {
        for name in &step.wait_for {
            if name == &step.name {
                report.error(
                    step.place,
                    format!("Step '{name}' waits for itself."),
                    "remove it from `wait-for`",
                );
            } else if !places.contains_key(name.as_str()) {
                let hint = match nearest(name, steps.iter().map(|step| step.name.as_str())) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "name another step of this tool".to_owned(),
                };
                report.error(
                    step.place,
                    format!("Step '{}' waits for unknown step '{name}'.", step.name),
                    hint,
                );
            }
        }
    }
    let edges: Vec<Vec<usize>> = steps
        .iter()
        .map(|step| {
            let known = step.wait_for.iter().filter(|name| **name != step.name);
            known.filter_map(|name| places.get(name.as_str()).copied()).collect()
        })
        .collect();
    if let Some(circle) = circle(&edges) {
        let names: Vec<&str> = circle.iter().map(|at| steps[*at].name.as_str()).collect();
        report.error(
            steps[circle[0]].place,
            format!("circular dependency {}", names.join(" -> ")),
            "remove one of these from `wait-for`",
        );
    }
}

/// Defaults that refer to each other in a circle (spec cycod 52).
fn defaults(definition: &Definition, report: &mut Report<'_>) {
    let parameters = &definition.parameters;
    let edges: Vec<Vec<usize>> = parameters
        .iter()
        .map(|parameter| {
            let mut names = Vec::new();
            if let Some(default) = &parameter.default {
                collect(default, &mut names);
            }
            let index = |name: &&str| parameters.iter().position(|other| other.name == *name);
            names.iter().filter_map(index).collect()
        })
        .collect();
    if let Some(circle) = circle(&edges) {
        let names: Vec<&str> = circle.iter().map(|at| parameters[*at].name.as_str()).collect();
        report.error(
            Place { line: 1, column: 1 },
            format!("circular dependency of defaults {}", names.join(" -> ")),
            "give one of these parameters a default that refers to nothing",
        );
    }
}

fn collect<'a>(value: &'a Datum, names: &mut Vec<&'a str>) {
    match value {
        Datum::Text(text) => {
            let plain = references(text).filter(|reference| reference.property.is_none());
            names.extend(plain.map(|reference| reference.name));
        }
        Datum::List(items) => items.iter().for_each(|item| collect(item, names)),
        Datum::Object(entries) => entries.iter().for_each(|(_, value)| collect(value, names)),
        Datum::Null | Datum::Bool(_) | Datum::Number(_) => {}
    }
}

/// A way from a place back to itself, that place first and last. Does not recurse: a file may hold
/// thousands of steps in one chain.
pub(crate) fn circle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Never,
        OnTheWay,
        Done,
    }
    let mut seen = vec![Seen::Never; edges.len()];
    for start in 0..edges.len() {
        let mut way = vec![(start, 0)];
        if seen[start] != Seen::Never {
            continue;
        }
        seen[start] = Seen::OnTheWay;
        while let Some((at, next)) = way.last_mut() {
            let Some(to) = edges[*at].get(*next).copied() else {
                seen[*at] = Seen::Done;
                way.pop();
                continue;
            };
            *next += 1;
            match seen[to] {
                Seen::Done => {}
                Seen::Never => {
                    seen[to] = Seen::OnTheWay;
                    way.push((to, 0));
                }
                Seen::OnTheWay => {
                    let way: Vec<usize> = way.iter().map(|(at, _)| *at).collect();
                    let first = way.iter().position(|at| *at == to).unwrap_or_default();
                    let mut circle = way[first..].to_vec();
                    circle.push(to);
                    return Some(circle);
                }
            }
        }
    }
    None
}
