//! The client of a node of Hoplite, over its C interface, whose header (hoplite/c.h) has the meaning of
//! each call. Sizes are in bytes. All calls may come from any thread.
//!
//! ```no_run
//! let client = hoplite::Client::connect("/tmp/n1.sock", hoplite::seconds(5))?;
//! let id = client.put(b"weights", &hoplite::PutOptions::default())?;
//! assert_eq!(&*client.get(id, hoplite::seconds(5))?, b"weights");
//! # Ok::<(), hoplite::Error>(())
//! ```

mod sys;

use std::ffi::{CStr, CString};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::time::Duration;

/// How long a call may take; `FOREVER` never passes, zero waits for nobody.
pub type Timeout = Option<Duration>;
pub const FOREVER: Timeout = None;

pub fn seconds(count: u64) -> Timeout {
    Some(Duration::from_secs(count))
}

fn milliseconds(timeout: Timeout) -> i64 {
    timeout.map_or(i64::MAX, |t| i64::try_from(t.as_nanos().saturating_add(999_999) / 1_000_000).unwrap_or(i64::MAX))
}

/// Why a call did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// A `HOPLITE_` code of c.h.
    pub code: i32,
    /// "timeout", "deleted", ...
    pub name: String,
    /// One sentence.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.name, self.message)
    }
}
impl std::error::Error for Error {}
pub type Result<T> = std::result::Result<T, Error>;

fn text(from: *const c_char) -> String {
    // SAFETY: the library's texts end with a zero, and stay until the next call of this thread.
    unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned()
}

fn check(code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: takes any code; never null.
    let (name, message) = unsafe { (text(sys::hoplite_error_name(code)), text(sys::hoplite_last_error())) };
    Err(Error { code, name, message })
}

fn c_text(from: &str) -> Result<CString> {
    CString::new(from).map_err(|_| Error {
        code: 1,
        name: "invalid_argument".into(),
        message: format!("{from:?} has a zero in it"),
    })
}

/// The name of an object: a plain value, handed around freely, also before the object exists.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub [u8; 20]);

impl Id {
    pub fn random() -> Id {
        // SAFETY: takes nothing.
        Id(unsafe { sys::hoplite_id_random() }.0)
    }
    /// The same text gives the same id on every machine.
    pub fn from_name(name: &str) -> Result<Id> {
        let name = c_text(name)?;
        // SAFETY: it ends with a zero.
        Ok(Id(unsafe { sys::hoplite_id_from_name(name.as_ptr()) }.0))
    }
    fn raw(&self) -> *const sys::Id {
        (self as *const Id).cast()
    }
}
impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

// A handle, freed once. The library's handles may be used from any thread.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $free:ident) => {
        $(#[$doc])*
        pub struct $name(*mut sys::$name);
        // SAFETY: c.h says that all calls may come from any thread; drop has the only reference.
        unsafe impl Send for $name {}
        unsafe impl Sync for $name {}
        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: it is this value's, and freed here only.
                unsafe { sys::$free(self.0) }
            }
        }
    };
}
handle!(/** A connection to the node of this host. */ Client, hoplite_client_free);
handle!(/** An object's bytes in the node's shared memory, which it pins. */ Buffer, hoplite_buffer_free);
handle!(/** An object that is being written in place; aborted when dropped. */ Draft, hoplite_draft_free);
handle!(/** A get or a reduction under way; a get is cancelled when dropped. */ Request, hoplite_request_free);

/// Of a put or a create.
#[derive(Clone, Debug, Default)]
pub struct PutOptions {
    /// None: a random one.
    pub id: Option<Id>,
    /// At most 4 KiB; what every get gives with the object.
    pub metadata: Vec<u8>,
    /// Of the elements, "float32"; empty: not noted.
    pub dtype: String,
    /// This client owns the object.
    pub owned: bool,
    pub timeout: Timeout,
}

impl PutOptions {
    fn flags(&self) -> Result<c_uint> {
        let owned = if self.owned { sys::OWNED } else { 0 };
        if self.dtype.is_empty() {
            return Ok(owned);
        }
        let dtype = c_text(&self.dtype)?;
        // SAFETY: it ends with a zero.
        Ok(owned | unsafe { sys::hoplite_of(dtype.as_ptr()) })
    }
}

impl Client {
    /// Attaches to the node at this Unix socket.
    pub fn connect(socket: &str, timeout: Timeout) -> Result<Client> {
        let socket = c_text(socket)?;
        let mut made = null_mut();
        // SAFETY: both pointers are good.
        check(unsafe { sys::hoplite_connect(socket.as_ptr(), milliseconds(timeout), &mut made) })?;
        Ok(Client(made))
    }
    /// Cancels what waits, and refuses later calls. Buffers stay readable.
    pub fn close(&self) {
        // SAFETY: the handle is alive, as below.
        unsafe { sys::hoplite_client_close(self.0) }
    }
    /// Stores a copy of the bytes. When it returns every node can get them.
    pub fn put(&self, data: &[u8], options: &PutOptions) -> Result<Id> {
        let (flags, about) = (options.flags()?, &options.metadata);
        let mut id = sys::Id(options.id.unwrap_or_default().0);
        // SAFETY: the slices are as long as is said.
        check(unsafe {
            sys::hoplite_put(self.0, &mut id, data.as_ptr().cast(), data.len(), about.as_ptr().cast(), about.len(),
                             flags, milliseconds(options.timeout))
        })?;
        Ok(Id(id.0))
    }
    /// Memory of the node's store, to be filled in place; its id.
    pub fn create(&self, size: usize, options: &PutOptions) -> Result<(Id, Draft)> {
        let (flags, about, mut made) = (options.flags()?, &options.metadata, null_mut());
        let mut id = sys::Id(options.id.unwrap_or_default().0);
        // SAFETY: as in put.
        check(unsafe {
            sys::hoplite_create(self.0, &mut id, size, about.as_ptr().cast(), about.len(), flags,
                                milliseconds(options.timeout), &mut made)
        })?;
        Ok((Id(id.0), Draft(made)))
    }
    /// Waits until the object exists, and brings it to the node.
    pub fn get(&self, id: Id, timeout: Timeout) -> Result<Buffer> {
        let mut made = null_mut();
        // SAFETY: the pointers are good.
        check(unsafe { sys::hoplite_get(self.0, id.raw(), 0, milliseconds(timeout), &mut made) })?;
        Ok(Buffer(made))
    }
    /// Returns at once; `Request::buffer` has the bytes.
    pub fn get_async(&self, id: Id, timeout: Timeout) -> Result<Request> {
        let mut made = null_mut();
        // SAFETY: the pointers are good.
        check(unsafe { sys::hoplite_get_async(self.0, id.raw(), 0, milliseconds(timeout), &mut made) })?;
        Ok(Request(made))
    }
    /// Copies the object into `into`, and gives its size.
    pub fn get_into(&self, id: Id, into: &mut [u8], timeout: Timeout) -> Result<usize> {
        let mut size = 0;
        // SAFETY: the slice is as long as is said, and the call has it alone.
        check(unsafe {
            sys::hoplite_get_into(self.0, id.raw(), into.as_mut_ptr().cast(), into.len(), 0, milliseconds(timeout),
                                  &mut size)
        })?;
        Ok(size)
    }
    /// Deletes the objects everywhere, also ids that don't exist.
    pub fn delete(&self, ids: &[Id], timeout: Timeout) -> Result<()> {
        // SAFETY: Id is 20 bytes, as in C.
        check(unsafe { sys::hoplite_delete(self.0, ids.as_ptr().cast(), ids.len(), milliseconds(timeout)) })
    }
    /// Begins to fold the sources, element by element, into one object. `op` is "sum", "mean", ...;
    /// `allreduce`: each node that has a source will read it. Anybody may get the target meanwhile.
    pub fn reduce(&self, op: &str, sources: &[Id], allreduce: bool, timeout: Timeout) -> Result<(Id, Request)> {
        let (op, mut target, mut made) = (c_text(op)?, sys::Id([0; 20]), null_mut());
        let flags = if allreduce { sys::EVERYONE_READS } else { 0 };
        // SAFETY: as in delete.
        check(unsafe {
            sys::hoplite_reduce(self.0, sources.as_ptr().cast(), sources.len(), 0, op.as_ptr(), std::ptr::null(),
                                &mut target, flags, milliseconds(timeout), &mut made)
        })?;
        Ok((Id(target.0), Request(made)))
    }
    /// Why the object is not complete at the client's node, in words for people.
    pub fn why(&self, id: Id, timeout: Timeout) -> Result<String> {
        let mut given = null_mut();
        // SAFETY: the pointers are good; the text is freed once.
        unsafe {
            check(sys::hoplite_why(self.0, id.raw(), milliseconds(timeout), &mut given))?;
            let why = text(given);
            sys::hoplite_text_free(given);
            Ok(why)
        }
    }
}

// SAFETY: `data` has `size` bytes as long as its handle lives; an empty object's may be null.
unsafe fn slice<'a>(data: *const c_void, size: usize) -> &'a [u8] {
    if size == 0 { &[] } else { std::slice::from_raw_parts(data.cast(), size) }
}

impl Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: nobody changes an object's bytes while it is pinned.
        unsafe { slice(sys::hoplite_buffer_data(self.0), sys::hoplite_buffer_size(self.0)) }
    }
}
impl Buffer {
    /// What the object's creator gave with it.
    pub fn metadata(&self) -> &[u8] {
        let mut size = 0;
        // SAFETY: as in deref.
        unsafe { let data = sys::hoplite_buffer_metadata(self.0, &mut size); slice(data, size) }
    }
}

impl Deref for Draft {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: it is not sealed, since seal takes it; only this process writes to it.
        unsafe { slice(sys::hoplite_draft_data(self.0), sys::hoplite_draft_size(self.0)) }
    }
}
impl DerefMut for Draft {
    fn deref_mut(&mut self) -> &mut [u8] {
        let size = self.len();
        if size == 0 { return &mut []; }
        // SAFETY: as in deref, and this is the only reference.
        unsafe { std::slice::from_raw_parts_mut(sys::hoplite_draft_data(self.0).cast(), size) }
    }
}
impl Draft {
    /// All bytes are written. When it returns every node can get the object.
    pub fn seal(self, timeout: Timeout) -> Result<()> {
        // SAFETY: the handle is alive.
        check(unsafe { sys::hoplite_draft_seal(self.0, milliseconds(timeout)) })
    }
}

impl Request {
    pub fn is_ready(&self) -> bool {
        // SAFETY: the handle is alive, as below.
        unsafe { sys::hoplite_request_ready(self.0) != 0 }
    }
    /// Waits for the outcome, each time it is asked for. After a timeout the request goes on.
    pub fn wait(&self, timeout: Timeout) -> Result<()> {
        check(unsafe { sys::hoplite_request_wait(self.0, milliseconds(timeout)) })
    }
    /// Of a get that is ready.
    pub fn buffer(&self) -> Result<Buffer> {
        let mut made = null_mut();
        check(unsafe { sys::hoplite_request_buffer(self.0, &mut made) })?;
        Ok(Buffer(made))
    }
    /// Gives up: its outcome is `cancelled`, unless it was there already.
    pub fn cancel(&self) {
        unsafe { sys::hoplite_request_cancel(self.0) }
    }
}
