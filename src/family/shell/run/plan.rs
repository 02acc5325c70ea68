//! Dependencies between steps (spec cycod 89–94): pure, runs nothing.
//!
//! A step waits for the steps that it names in `wait-for` or in a reference. Without `parallel` it
//! also waits for all earlier steps that are not parallel. If the two contradict, the named ones
//! count: the order of the list is only the default.

use super::super::cycles::circle;
use super::super::definition::Step;
use super::template::{Names, Template};

/// Returns for each step the steps that must have ended before it starts.
///
/// # Errors
/// With the steps that wait for each other.
pub(crate) fn plan(steps: &[Step]) -> Result<Vec<Vec<usize>>, String> {
    let mut waits: Vec<Vec<usize>> = steps.iter().map(|step| named(step, steps)).collect();
    if let Some(circle) = circle(&waits) {
        let names: Vec<&str> = circle.iter().map(|at| steps[*at].name.as_str()).collect();
        return Err(format!("circular dependency {}", names.join(" -> ")));
    }
    for (index, step) in steps.iter().enumerate() {
        if step.parallel {
            continue;
        }
        // Earlier steps that depend on this one are left out: waiting for them would be a cycle.
        let dependents = dependents(&waits, index);
        for earlier in 0..index {
            let is_in_line = !steps[earlier].parallel && !dependents[earlier];
            if is_in_line && !waits[index].contains(&earlier) {
                waits[index].push(earlier);
            }
        }
    }
    Ok(waits)
}

/// Returns the steps that wait for `index`, directly or not.
fn dependents(waits: &[Vec<usize>], index: usize) -> Vec<bool> {
    let mut found = vec![false; waits.len()];
    found[index] = true;
    // An earlier step can depend on `index` only if some step waits for a later one. Otherwise the
    // search is not needed; it ends after at most as many rounds as there are steps.
    let is_forward = |(own, waits): (usize, &Vec<usize>)| waits.iter().any(|other| *other > own);
    if !waits.iter().enumerate().any(is_forward) {
        return vec![false; waits.len()];
    }
    loop {
        let mut is_new = false;
        for (own, others) in waits.iter().enumerate() {
            if !found[own] && others.iter().any(|other| found[*other]) {
                found[own] = true;
                is_new = true;
            }
        }
        if !is_new {
            return found;
        }
    }
}

/// Returns the steps that a step names.
fn named(step: &Step, steps: &[Step]) -> Vec<usize> {
    let place = |name: &str| steps.iter().position(|other| other.name == name);
    let mut found: Vec<usize> = step
        .wait_for
        .iter()
        .filter_map(|name| place(name))
        .collect();
    for text in step.texts() {
        let template = Template::parse(text, &StepNames(steps));
        found.extend(template.steps().filter_map(place));
    }
    found.sort_unstable();
    found.dedup();
    found
}

struct StepNames<'a>(&'a [Step]);

impl Names for StepNames<'_> {
    fn knows(&self, _name: &str) -> bool {
        false
    }

    fn has_step(&self, name: &str) -> bool {
        self.0.iter().any(|step| step.name == name)
    }
}
