//! Checks of references between the parts of one tool: steps that wait for steps, defaults that
//! refer to parameters. References to other tools are checked by the shelf.

use std::collections::HashMap;

use super::super::cycles::circle;
use super::super::definition::{Definition, Place, Step};
use super::super::references::circle_of_defaults;
use super::super::report::Report;
use haft_tool::did_you_mean;

pub(super) fn check(definition: &Definition, report: &mut Report<'_>) {
    waits(definition.steps(), report);
    defaults(definition, report);
}

/// Reports unknown steps, steps that wait for themselves, and cycles (spec cycod 93).
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
                let known = steps.iter().map(|step| step.name.as_str());
                let hint = did_you_mean(name, known, "name another step of this tool");
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
            known
                .filter_map(|name| places.get(name.as_str()).copied())
                .collect()
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

/// Reports defaults that refer to each other in a cycle (spec cycod 52).
fn defaults(definition: &Definition, report: &mut Report<'_>) {
    if let Some(names) = circle_of_defaults(&definition.parameters) {
        report.error(
            Place { line: 1, column: 1 },
            format!("circular dependency of defaults {}", names.join(" -> ")),
            "give one of these parameters a default that refers to nothing",
        );
    }
}
