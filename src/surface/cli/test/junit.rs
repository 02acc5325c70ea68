//! Test results as a JUnit report, which most build servers can read.

use std::io;

use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};

use super::text::in_words;
use super::{Count, Reporter};
use crate::surface::stdout::Out;
use crate::tool_test::{Report, Status};
use haft_tool::Problem;

pub(super) struct Junit<'a> {
    out: &'a mut Out,
    suites: Vec<TestSuite>,
}

impl<'a> Junit<'a> {
    pub(super) fn new(out: &'a mut Out) -> Self {
        Junit {
            out,
            suites: Vec::new(),
        }
    }

    fn add(&mut self, file: &str, case: TestCase) {
        let last = self.suites.last_mut();
        match last.filter(|suite| suite.name.as_str() == file) {
            Some(suite) => {
                suite.add_test_case(case);
            }
            None => {
                let mut suite = TestSuite::new(file);
                suite.add_test_case(case);
                self.suites.push(suite);
            }
        }
    }
}

impl Reporter for Junit<'_> {
    fn test(&mut self, file: &str, name: &str, report: &Report) -> io::Result<()> {
        let status = match &report.status {
            Status::Passed => TestCaseStatus::success(),
            Status::Skipped(why) => {
                let mut status = TestCaseStatus::skipped();
                status.set_message(why.as_str());
                status
            }
            Status::Failed(reasons) => failure(&reasons.join("\n")),
        };
        let mut case = TestCase::new(name, status);
        case.set_classname(file).set_time(report.duration);
        if !report.notes.is_empty() {
            case.set_system_out(report.notes.join("\n"));
        }
        self.add(file, case);
        Ok(())
    }

    fn broken(&mut self, file: &str, problem: &Problem) -> io::Result<()> {
        let mut case = TestCase::new("the file", failure(&in_words(problem)));
        case.set_classname(file);
        self.add(file, case);
        Ok(())
    }

    fn end(&mut self, _count: &Count) -> io::Result<()> {
        let mut document = Document::new("haft test");
        document.add_test_suites(std::mem::take(&mut self.suites));
        let text = document.to_string().map_err(io::Error::other)?;
        self.out.data(&text)?;
        self.out.flush()
    }
}

fn failure(reasons: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(reasons.lines().next().unwrap_or_default());
    status.set_description(reasons);
    status
}
