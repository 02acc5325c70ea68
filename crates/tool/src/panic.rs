//! Catches panics of third-party code and turns them into error texts.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs `work` and returns a panic as an error with its text.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // No state of haft can be left half changed: `work` has only its own captures.
    catch_unwind(AssertUnwindSafe(work)).map_err(text)
}

/// Future that returns panics of the inner future as errors, including panics while it is dropped.
pub struct Caught<F>(Option<Pin<Box<F>>>)
where
    F: Future + ?Sized;

impl<F: Future + ?Sized> Caught<F> {
    pub fn new(future: Pin<Box<F>>) -> Self {
        Caught(Some(future))
    }

    fn end(&mut self) -> Result<(), String> {
        let future = self.0.take();
        caught(move || drop(future))
    }
}

impl<F: Future + ?Sized> Future for Caught<F> {
    type Output = Result<F::Output, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.0 else {
            return Poll::Pending;
        };
        let polled = match caught(|| future.as_mut().poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panicked) => Err(panicked),
        };
        // The inner future may panic when it is dropped.
        let ended = self.end();
        Poll::Ready(polled.and_then(|output| ended.map(|()| output)))
    }
}

impl<F: Future + ?Sized> Drop for Caught<F> {
    fn drop(&mut self) {
        // A panic has no receiver here any more.
        let _ = self.end();
    }
}

fn text(panic: Box<dyn Any + Send>) -> String {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = match said {
        Some(said) => format!("it panicked: {said}"),
        None => "it panicked".to_owned(),
    };
    // A payload may itself panic when it is dropped.
    if let Err(again) = catch_unwind(AssertUnwindSafe(move || drop(panic))) {
        std::mem::forget(again);
    }
    text
}
