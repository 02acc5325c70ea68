use std::sync::{Arc, Mutex};

use haft::HostBuilder;
use haft::session::{SessionEvent, SessionProvider, SessionView};
use serde_json::json;
use serde_json::value::to_raw_value;

/// An agent with its conversation.
#[derive(Default)]
struct Agent(Mutex<Arc<SessionView>>);

impl SessionProvider for Agent {
    fn view(&self) -> Arc<SessionView> {
        self.0.lock().expect("not poisoned").clone()
    }
}

/// `builder` is `Host::builder()`.
pub async fn run(builder: HostBuilder) -> Result<(), haft::Error> {
    let agent = Arc::new(Agent::default());
    let host = builder.session(agent.clone()).build()?;
    host.emit(&SessionEvent::Start).await;

    // Whatever the agent's history becomes, tools see it the next time they look.
    let entry =
        json!({"type": "message", "id": "a", "parentId": null, "message": {"role": "user"}});
    let entry = Arc::from(to_raw_value(&entry).expect("it is JSON"));
    *agent.0.lock().expect("not poisoned") = Arc::new(SessionView {
        id: "session-1".to_owned(),
        entries: vec![Arc::clone(&entry)],
        branch: vec![entry],
        ..SessionView::default()
    });
    host.emit(&SessionEvent::Tree).await;
    host.shutdown().await;
    Ok(())
}
