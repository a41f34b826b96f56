// Package hoplite is the client of a node of Hoplite, over the C interface (hoplite/c.h, which has the
// meaning of each call). Sizes are in bytes. All calls may come from any goroutine.
//
// A call takes what waits from its context: its deadline, and its cancellation.
package hoplite

/*
#cgo pkg-config: hoplite
#include <stdlib.h>
#include <hoplite/c.h>
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"
	"unsafe"
)

// Error says why a call did not do what was asked.
type Error struct {
	Code    int    // a HOPLITE_ code of c.h
	Name    string // "timeout", "deleted", ...
	Message string // one sentence
}

func (e *Error) Error() string { return e.Name + ": " + e.Message }

// Is makes errors.Is(err, context.DeadlineExceeded) and context.Canceled work.
func (e *Error) Is(other error) bool {
	return e.Code == C.HOPLITE_TIMEOUT && other == context.DeadlineExceeded ||
		e.Code == C.HOPLITE_CANCELLED && other == context.Canceled
}

// IsCode tells whether err is an Error of this name: IsCode(err, "deleted").
func IsCode(err error, name string) bool {
	var one *Error
	return errors.As(err, &one) && one.Name == name
}

// The sentence is kept for each thread: it is asked for on the thread of the call.
func call(f func() C.int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	code := f()
	if code == C.HOPLITE_OK {
		return nil
	}
	return &Error{int(code), C.GoString(C.hoplite_error_name(code)), C.GoString(C.hoplite_last_error())}
}

func timeout(ctx context.Context) C.int64_t {
	deadline, ok := ctx.Deadline()
	if !ok {
		return math.MaxInt64
	}
	left := time.Until(deadline)
	if left <= 0 {
		return 0
	}
	return C.int64_t((left + time.Millisecond - 1) / time.Millisecond)
}

func pointer(data []byte) unsafe.Pointer {
	if len(data) == 0 {
		return nil
	}
	return unsafe.Pointer(&data[0])
}

// ID is the name of an object: a plain value, handed around freely, also before the object exists.
type ID [20]byte

func toC(id ID) C.hoplite_id   { return *(*C.hoplite_id)(unsafe.Pointer(&id)) }
func fromC(id C.hoplite_id) ID { return *(*ID)(unsafe.Pointer(&id)) }
func idsToC(ids []ID) *C.hoplite_id {
	if len(ids) == 0 {
		return nil
	}
	return (*C.hoplite_id)(unsafe.Pointer(&ids[0]))
}

// RandomID gives 160 random bits.
func RandomID() ID { return fromC(C.hoplite_id_random()) }

// IDFromName gives the same id for the same text, on every machine.
func IDFromName(name string) ID {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return fromC(C.hoplite_id_from_name(text))
}

// String gives 40 hexadecimal digits.
func (id ID) String() string { return fmt.Sprintf("%x", id[:]) }

// Client is a connection to the node of this host.
type Client struct{ handle *C.hoplite_client }

// Connect attaches to the node at this Unix socket.
func Connect(ctx context.Context, socket string) (*Client, error) {
	path := C.CString(socket)
	defer C.free(unsafe.Pointer(path))
	made := &Client{}
	err := call(func() C.int { return C.hoplite_connect(path, timeout(ctx), &made.handle) })
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(made, func(c *Client) { C.hoplite_client_free(c.handle) })
	return made, nil
}

// Close cancels what waits, and refuses later calls. Buffers stay readable.
func (c *Client) Close() {
	C.hoplite_client_close(c.handle)
	runtime.KeepAlive(c)
}

// PutOptions of a Put; the zero value is the default.
type PutOptions struct {
	ID       ID     // zero: a random one
	Metadata []byte // at most 4 KiB; what every Get gives with the object
	DType    string // of the elements, "float32"; "": not noted
	Owned    bool   // this client owns the object
}

// Put stores a copy of the bytes. When it returns every node can get them.
func (c *Client) Put(ctx context.Context, data []byte, options PutOptions) (ID, error) {
	id := toC(options.ID)
	var flags C.uint
	if options.DType != "" {
		dtype := C.CString(options.DType)
		defer C.free(unsafe.Pointer(dtype))
		flags |= C.hoplite_of(dtype)
	}
	if options.Owned {
		flags |= C.HOPLITE_OWNED
	}
	err := call(func() C.int {
		return C.hoplite_put(c.handle, &id, pointer(data), C.size_t(len(data)), pointer(options.Metadata),
			C.size_t(len(options.Metadata)), flags, timeout(ctx))
	})
	runtime.KeepAlive(c)
	return fromC(id), err
}

// Waits for a request, which the end of the context gives up.
func finish(ctx context.Context, request *C.hoplite_request) error {
	done, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		select {
		case <-ctx.Done():
			C.hoplite_request_cancel(request)
		case <-done:
		}
	}()
	err := call(func() C.int { return C.hoplite_request_wait(request, math.MaxInt64) })
	close(done)
	<-left
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w (%v)", ctx.Err(), err)
	}
	return err
}

// Buffer is an object's bytes in the node's shared memory, which it pins until Free.
type Buffer struct{ handle *C.hoplite_buffer }

// Get waits until the object exists, and brings it to the node.
func (c *Client) Get(ctx context.Context, id ID) (*Buffer, error) {
	named := toC(id)
	var request *C.hoplite_request
	err := call(func() C.int { return C.hoplite_get_async(c.handle, &named, 0, timeout(ctx), &request) })
	if err != nil {
		return nil, err
	}
	defer C.hoplite_request_free(request)
	if err := finish(ctx, request); err != nil {
		return nil, err
	}
	made := &Buffer{}
	if err := call(func() C.int { return C.hoplite_request_buffer(request, &made.handle) }); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(made, (*Buffer).Free)
	runtime.KeepAlive(c)
	return made, nil
}

// Bytes are read-only (a write ends the process), and valid until Free: copy what is to stay. Keep the
// Buffer while they are used.
func (b *Buffer) Bytes() []byte {
	return unsafe.Slice((*byte)(C.hoplite_buffer_data(b.handle)), int(C.hoplite_buffer_size(b.handle)))
}

// Metadata is a copy of what the object's creator gave with it.
func (b *Buffer) Metadata() []byte {
	var size C.size_t
	data := C.hoplite_buffer_metadata(b.handle, &size)
	return C.GoBytes(data, C.int(size))
}

// Free ends the pin. Idempotent.
func (b *Buffer) Free() {
	C.hoplite_buffer_free(b.handle)
	b.handle = nil
}

// GetInto copies the object into `into`, and gives its size.
func (c *Client) GetInto(ctx context.Context, id ID, into []byte) (int, error) {
	named := toC(id)
	var size C.size_t
	err := call(func() C.int {
		return C.hoplite_get_into(c.handle, &named, pointer(into), C.size_t(len(into)), 0, timeout(ctx), &size)
	})
	runtime.KeepAlive(c)
	return int(size), err
}

// Delete deletes the objects everywhere, also ids that don't exist.
func (c *Client) Delete(ctx context.Context, ids ...ID) error {
	defer runtime.KeepAlive(c)
	return call(func() C.int {
		return C.hoplite_delete(c.handle, idsToC(ids), C.size_t(len(ids)), timeout(ctx))
	})
}

// Reduce folds the sources, element by element, into one object, whose id it gives when that is final.
// op is "sum", "mean", "min", ...; allreduce: each node that has a source will read it.
func (c *Client) Reduce(ctx context.Context, op string, allreduce bool, sources ...ID) (ID, error) {
	name := C.CString(op)
	defer C.free(unsafe.Pointer(name))
	var target C.hoplite_id
	var request *C.hoplite_request
	var flags C.uint
	if allreduce {
		flags = C.HOPLITE_EVERYONE_READS
	}
	err := call(func() C.int {
		return C.hoplite_reduce(c.handle, idsToC(sources), C.size_t(len(sources)), 0, name, nil, &target, flags,
			timeout(ctx), &request)
	})
	if err != nil {
		return ID{}, err
	}
	defer C.hoplite_request_free(request)
	err = finish(ctx, request)
	runtime.KeepAlive(c)
	return fromC(target), err
}

// Why says why the object is not complete at the client's node, in words for people.
func (c *Client) Why(ctx context.Context, id ID) (string, error) {
	named := toC(id)
	var text *C.char
	if err := call(func() C.int { return C.hoplite_why(c.handle, &named, timeout(ctx), &text) }); err != nil {
		return "", err
	}
	defer C.hoplite_text_free(text)
	runtime.KeepAlive(c)
	return C.GoString(text), nil
}
