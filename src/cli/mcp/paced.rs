//! Standard input and output that keep step: while an answer can't be written, no request is read. A client that asks without end and reads nothing would
//! fill the memory otherwise, and behind an agent's socket it is a stranger.

use std::io::Result;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, Stdin, Stdout};

/// Closed while an answer waits.
#[derive(Default)]
struct Gate {
    closed: AtomicBool,
    reader: Mutex<Option<Waker>>,
}

impl Gate {
    fn set(&self, closed: bool) {
        self.closed.store(closed, Ordering::SeqCst);
        if !closed && let Some(waker) = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take() {
            waker.wake();
        }
    }

    fn is_closed(&self, cx: &Context<'_>) -> bool {
        if !self.closed.load(Ordering::SeqCst) {
            return false;
        }
        *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        // It may have been opened meanwhile, by who saw no waker.
        self.closed.load(Ordering::SeqCst)
    }
}

pub(super) struct Reader(Stdin, Arc<Gate>);

pub(super) struct Writer(Stdout, Arc<Gate>);

/// Both ends.
pub(super) fn paced() -> (Reader, Writer) {
    let gate = Arc::new(Gate::default());
    (Reader(tokio::io::stdin(), Arc::clone(&gate)), Writer(tokio::io::stdout(), gate))
}

impl AsyncRead for Reader {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        if self.1.is_closed(cx) {
            return Poll::Pending;
        }
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl Writer {
    fn told<T>(&self, polled: Poll<T>) -> Poll<T> {
        self.1.set(polled.is_pending());
        polled
    }
}

impl AsyncWrite for Writer {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let polled = Pin::new(&mut self.0).poll_write(cx, bytes);
        self.told(polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let polled = Pin::new(&mut self.0).poll_flush(cx);
        self.told(polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
