// What hoplite/c.h declares, as far as lib.rs uses it.
use std::os::raw::{c_char, c_int, c_uint, c_void};

macro_rules! handles {
    ($($name:ident),*) => { $(#[repr(C)] pub struct $name { _private: [u8; 0] })* };
}
handles!(Client, Buffer, Draft, Request);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Id(pub [u8; 20]);

pub const OWNED: c_uint = 1;
pub const EVERYONE_READS: c_uint = 4;

extern "C" {
    pub fn hoplite_error_name(code: c_int) -> *const c_char;
    pub fn hoplite_last_error() -> *const c_char;
    pub fn hoplite_id_random() -> Id;
    pub fn hoplite_id_from_name(name: *const c_char) -> Id;
    pub fn hoplite_connect(socket: *const c_char, timeout_ms: i64, client: *mut *mut Client) -> c_int;
    pub fn hoplite_client_close(client: *mut Client);
    pub fn hoplite_client_free(client: *mut Client);
    pub fn hoplite_of(dtype: *const c_char) -> c_uint;
    pub fn hoplite_put(client: *mut Client, id: *mut Id, data: *const c_void, size: usize, metadata: *const c_void,
                       metadata_size: usize, flags: c_uint, timeout_ms: i64) -> c_int;
    pub fn hoplite_create(client: *mut Client, id: *mut Id, size: usize, metadata: *const c_void,
                          metadata_size: usize, flags: c_uint, timeout_ms: i64, draft: *mut *mut Draft) -> c_int;
    pub fn hoplite_draft_data(draft: *mut Draft) -> *mut c_void;
    pub fn hoplite_draft_size(draft: *const Draft) -> usize;
    pub fn hoplite_draft_seal(draft: *mut Draft, timeout_ms: i64) -> c_int;
    pub fn hoplite_draft_free(draft: *mut Draft);
    pub fn hoplite_get(client: *mut Client, id: *const Id, flags: c_uint, timeout_ms: i64,
                       buffer: *mut *mut Buffer) -> c_int;
    pub fn hoplite_get_async(client: *mut Client, id: *const Id, flags: c_uint, timeout_ms: i64,
                             request: *mut *mut Request) -> c_int;
    pub fn hoplite_buffer_data(buffer: *const Buffer) -> *const c_void;
    pub fn hoplite_buffer_size(buffer: *const Buffer) -> usize;
    pub fn hoplite_buffer_metadata(buffer: *const Buffer, size: *mut usize) -> *const c_void;
    pub fn hoplite_buffer_free(buffer: *mut Buffer);
    pub fn hoplite_get_into(client: *mut Client, id: *const Id, into: *mut c_void, capacity: usize, flags: c_uint,
                            timeout_ms: i64, size: *mut usize) -> c_int;
    pub fn hoplite_delete(client: *mut Client, ids: *const Id, count: usize, timeout_ms: i64) -> c_int;
    pub fn hoplite_reduce(client: *mut Client, sources: *const Id, count: usize, num_objects: usize,
                          op: *const c_char, dtype: *const c_char, target: *mut Id, flags: c_uint, timeout_ms: i64,
                          request: *mut *mut Request) -> c_int;
    pub fn hoplite_request_ready(request: *const Request) -> c_int;
    pub fn hoplite_request_wait(request: *mut Request, timeout_ms: i64) -> c_int;
    pub fn hoplite_request_buffer(request: *mut Request, buffer: *mut *mut Buffer) -> c_int;
    pub fn hoplite_request_cancel(request: *mut Request);
    pub fn hoplite_request_free(request: *mut Request);
    pub fn hoplite_why(client: *mut Client, id: *const Id, timeout_ms: i64, text: *mut *mut c_char) -> c_int;
    pub fn hoplite_text_free(text: *mut c_char);
}
