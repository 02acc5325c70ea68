//! Message ports whose queues count against the isolate's budget. Deno's queues have no limit.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use deno_core::{
    AsyncRefCell, CancelFuture, CancelHandle, DetachedBuffer, JsBuffer, OpState, RcRef, Resource,
    ResourceId, TransferredResource, op2,
};
use deno_error::JsErrorBox;
use deno_runtime::deno_web::{
    JsMessageData, RecvMessageData, Transferable, deserialize_js_transferables,
    serialize_transferables,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::budget::{Charge, budget};

/// Approximate size of a queued message besides its bytes.
const OVERHEAD: usize = 256;

/// A queued message.
struct Queued {
    data: DetachedBuffer,
    transferables: Vec<Transferable>,
    _charge: Charge,
}

/// One end of a channel.
struct Port {
    inbox: AsyncRefCell<UnboundedReceiver<Queued>>,
    outbox: UnboundedSender<Queued>,
    cancel: CancelHandle,
}

/// A port that is being sent through another port.
struct Transferred(UnboundedReceiver<Queued>, UnboundedSender<Queued>);

impl Resource for Port {
    fn name(&self) -> Cow<'_, str> {
        "messagePort".into()
    }

    fn close(self: Rc<Self>) {
        self.cancel.cancel();
    }

    fn transfer(self: Rc<Self>) -> Result<Box<dyn TransferredResource>, JsErrorBox> {
        self.cancel.cancel();
        let port = Rc::try_unwrap(self);
        let port =
            port.map_err(|_| JsErrorBox::type_error("Message port is not ready for transfer"))?;
        let inbox = port.inbox.into_inner();
        Ok(Box::new(Transferred(inbox, port.outbox)))
    }
}

impl TransferredResource for Transferred {
    fn receive(self: Box<Self>) -> Rc<dyn Resource> {
        Rc::new(Port::new(self.0, self.1))
    }
}

impl Port {
    fn new(inbox: UnboundedReceiver<Queued>, outbox: UnboundedSender<Queued>) -> Port {
        Port {
            inbox: AsyncRefCell::new(inbox),
            outbox,
            cancel: CancelHandle::new(),
        }
    }

    fn of(state: &OpState, id: ResourceId) -> Result<Rc<Port>, JsErrorBox> {
        let found = state.resource_table.get::<Port>(id);
        found.map_err(JsErrorBox::from_err)
    }
}

/// Replaces `op_message_port_create_entangled`.
#[op2]
pub fn op_haft_port_create(state: &mut OpState) -> (ResourceId, ResourceId) {
    let (first_out, second_in) = unbounded_channel();
    let (second_out, first_in) = unbounded_channel();
    let first = state.resource_table.add(Port::new(first_in, first_out));
    let second = state.resource_table.add(Port::new(second_in, second_out));
    (first, second)
}

/// Replaces `op_message_port_post_message`.
#[op2]
pub fn op_haft_port_post(
    state: &mut OpState,
    #[smi] rid: ResourceId,
    #[serde] message: JsMessageData,
) -> Result<(), JsErrorBox> {
    let port = Port::of(state, rid)?;
    let charge = charge(state, message.data.len())?;
    // The reference that is held here makes the transfer of a port through itself fail.
    let transferables = deserialize_js_transferables(state, message.transferables);
    let queued = Queued {
        data: message.data,
        transferables: transferables.map_err(JsErrorBox::from_err)?,
        _charge: charge,
    };
    // The other end may be closed.
    let _ = port.outbox.send(queued);
    Ok(())
}

/// Replaces `op_message_port_post_message_raw`.
#[op2]
pub fn op_haft_port_post_raw(
    state: &mut OpState,
    #[smi] rid: ResourceId,
    #[buffer(detach)] data: JsBuffer,
) -> Result<(), JsErrorBox> {
    let port = Port::of(state, rid)?;
    let charge = charge(state, data.len())?;
    let queued = Queued {
        data: DetachedBuffer::from_v8slice(data.into_parts()),
        transferables: Vec::new(),
        _charge: charge,
    };
    let _ = port.outbox.send(queued);
    Ok(())
}

/// Replaces `op_message_port_recv_message`.
#[op2]
pub async fn op_haft_port_receive(
    state: Rc<RefCell<OpState>>,
    #[smi] rid: ResourceId,
) -> Result<Option<RecvMessageData>, JsErrorBox> {
    let Ok(port) = Port::of(&state.borrow(), rid) else {
        return Ok(None);
    };
    let cancel = RcRef::map(port.clone(), |port| &port.cancel);
    let inbox = RcRef::map(port, |port| &port.inbox);
    let receive = async {
        let mut inbox = inbox.borrow_mut().await;
        inbox.recv().await
    };
    let received = receive.or_cancel(cancel).await;
    let Some(queued) = received.map_err(JsErrorBox::from_err)? else {
        return Ok(None);
    };
    Ok(Some(message(&mut state.borrow_mut(), queued).into()))
}

/// Replaces `op_message_port_recv_message_sync`.
#[op2]
pub fn op_haft_port_receive_now(
    state: &mut OpState,
    #[smi] rid: ResourceId,
) -> Result<Option<JsMessageData>, JsErrorBox> {
    let port = Port::of(state, rid)?;
    let inbox = RcRef::map(port, |port| &port.inbox).try_borrow_mut();
    let queued = inbox.and_then(|mut inbox| inbox.try_recv().ok());
    Ok(queued.map(|queued| message(state, queued)))
}

fn charge(state: &OpState, bytes: usize) -> Result<Charge, JsErrorBox> {
    budget(state).charge(bytes.saturating_add(OVERHEAD), "the queued message")
}

fn message(state: &mut OpState, queued: Queued) -> JsMessageData {
    JsMessageData {
        data: queued.data,
        transferables: serialize_transferables(state, queued.transferables),
    }
}
