//! Who is behind a handle: whom its calls ask, what they may do, who hears them.

use std::sync::Arc;

use super::Host;
use super::recording::Recorder;
use crate::tool::{ApprovalPolicy, Approver, LogListener, UserInterface};

/// Who is behind a handle.
#[derive(Clone, Default)]
pub(super) struct Audience {
    pub(super) approver: Option<Arc<dyn Approver>>,
    pub(super) ui: Option<Arc<dyn UserInterface>>,
    /// What the user allows, where that is not what the configuration says.
    pub(super) approval: Option<Arc<ApprovalPolicy>>,
    pub(super) log: Option<Arc<dyn LogListener>>,
    /// The most bytes of text in a result, where that is not what the configuration says; 0: any number.
    pub(super) text_limit: Option<usize>,
    /// Where its calls are recorded; `None`: nowhere.
    pub(super) recorder: Option<Recorder>,
}

impl Host {
    /// The same host; calls that are started through this handle ask `approver` where the policy
    /// wants somebody asked. Without one the handle's user interface is asked, and without that such
    /// calls are refused.
    pub fn asking(&self, approver: Arc<dyn Approver>) -> Host {
        let mut host = self.clone();
        host.1.approver = Some(approver);
        host
    }

    /// The same host; the tools of calls that are started through this handle ask and tell `ui`
    /// (`pi.ui`, `ctx.ui`, `hasUI`), whatever other handles do at the same time.
    pub fn with_ui(&self, ui: Arc<dyn UserInterface>) -> Host {
        let mut host = self.clone();
        host.1.ui = Some(ui);
        host
    }

    /// The same host; calls that are started through this handle go by `policy` and not by the
    /// configuration's. What is hidden from lists stays hidden by the latter.
    pub fn with_approval(&self, policy: ApprovalPolicy) -> Host {
        let mut host = self.clone();
        host.1.approval = Some(Arc::new(policy));
        host
    }

    /// The same host; `listener` hears what the tools of calls that are started through this handle log
    /// (`pi.logger`, `console`). The log file gets it in any case.
    pub fn with_log(&self, listener: Arc<dyn LogListener>) -> Host {
        let mut host = self.clone();
        host.1.log = Some(listener);
        host
    }

    /// The same host; text of results beyond `bytes` of calls that are started through this handle goes
    /// to a file, whatever the configuration says. 0: never.
    pub(crate) fn with_text_limit(&self, bytes: usize) -> Host {
        let mut host = self.clone();
        host.1.text_limit = Some(bytes);
        host
    }

    /// Whom calls ask whose handle has no [`Host::with_ui`], and modules outside of calls; from now
    /// on, for all handles. `None`: nobody, as in the beginning.
    pub fn set_default_ui(&self, ui: Option<Arc<dyn UserInterface>>) {
        self.0.default_user.set(ui);
    }
}
