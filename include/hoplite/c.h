/* The C interface of Hoplite: the client, for programs in C99, in older C++ and in other languages.
   docs/c.md shows how to use it. Nothing here throws.

   Handles (hoplite_client, hoplite_buffer, ...) are the caller's, who frees each with the function
   named after it; NULL may be freed. A handle may be freed while others that were made through it
   live on. All calls may come from any thread; a handle must not be freed while a call uses it.

   Calls that can fail return a code: HOPLITE_OK, or why not. What they would give through a pointer
   is then unchanged. Pointers must not be NULL unless a comment allows it; if one is, the call
   returns HOPLITE_INVALID_ARGUMENT. Every call may also return TIMEOUT, CANCELLED (the client was
   closed meanwhile), UNAVAILABLE, INVALID_ARGUMENT, RESOURCE_EXHAUSTED and INTERNAL.

   Sizes are in bytes, times in milliseconds. */
#ifndef HOPLITE_C_H_
#define HOPLITE_C_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HOPLITE_C_EXPORT __attribute__((visibility("default")))
#else
#define HOPLITE_C_EXPORT
#endif

/* --- Version ---
   Counts up when something is added; nothing is removed or changed while the library has the same
   soname. A program needs a library whose hoplite_c_version() is at least the HOPLITE_C_VERSION
   that the program was compiled with. */
#define HOPLITE_C_VERSION 2

/* The HOPLITE_C_VERSION of the library that the program runs with. */
HOPLITE_C_EXPORT int hoplite_c_version(void);
/* The library's own version, "0.1.0". Static. */
HOPLITE_C_EXPORT const char* hoplite_version(void);

/* --- Errors ---
   Later versions may add codes: treat an unknown one as a failure that you can't react to. */
enum {
  HOPLITE_OK = 0,                 /* done */
  HOPLITE_INVALID_ARGUMENT = 1,   /* correct the call */
  HOPLITE_NOT_FOUND = 2,          /* the thing named isn't there; waiting won't help */
  HOPLITE_ALREADY_EXISTS = 3,     /* choose another id, or get what is there */
  HOPLITE_DELETED = 4,            /* the object was deleted */
  HOPLITE_TIMEOUT = 5,            /* the deadline passed; ask again, or give up */
  HOPLITE_CANCELLED = 6,          /* the caller itself cancelled */
  HOPLITE_RESOURCE_EXHAUSTED = 7, /* free memory, or start the node with more */
  HOPLITE_UNAVAILABLE = 8,        /* the node or directory can't be reached now; try again later */
  HOPLITE_PEER_LOST = 9,          /* a named member died; put the object again */
  HOPLITE_DATA_LOSS = 10,         /* bytes failed their checksum everywhere they were */
  HOPLITE_PROTOCOL = 11,          /* the other side broke the protocol; report a bug */
  HOPLITE_RECALLED = 12,          /* the bytes belong to a version that was replaced */
  HOPLITE_INTERNAL = 13,          /* a bug of this library */
  HOPLITE_FAILED = 14,            /* whoever was to make the object says that it won't come */
  HOPLITE_CONFLICT = 15,          /* somebody else has what was claimed */
  HOPLITE_PUBLISHER_GONE = 16     /* a channel's publisher is gone */
};

/* "timeout", "peer_lost", ...; of an unknown code "unknown". Static. */
HOPLITE_C_EXPORT const char* hoplite_error_name(int code);
/* One sentence about the last call of this thread that returned another code than HOPLITE_OK; "" if
   none did. Valid until the next such call of this thread. */
HOPLITE_C_EXPORT const char* hoplite_last_error(void);

/* --- Ids --- */
/* The name of an object: a plain value, handed around freely, also before the object exists. */
typedef struct hoplite_id {
  uint8_t bytes[20]; /* all zero: names no object */
} hoplite_id;

#define HOPLITE_ID_TEXT 41 /* 40 hexadecimal digits and a zero */

/* 160 random bits. */
HOPLITE_C_EXPORT hoplite_id hoplite_id_random(void);
/* The same text gives the same id on every machine. NULL gives the id that names no object. */
HOPLITE_C_EXPORT hoplite_id hoplite_id_from_name(const char* name);
/* 40 hexadecimal digits, or "name:TEXT", which means hoplite_id_from_name.
     INVALID_ARGUMENT  it is neither */
HOPLITE_C_EXPORT int hoplite_id_parse(const char* text, hoplite_id* id);
/* Writes 40 hexadecimal digits and a zero. */
HOPLITE_C_EXPORT void hoplite_id_format(const hoplite_id* id, char text[HOPLITE_ID_TEXT]);

/* --- Client --- */
/* A connection to the node of this host. */
typedef struct hoplite_client hoplite_client;

/* What `timeout_ms` means everywhere: the call ends after so long. Zero or less: it takes what is at
   the node already, and waits for nobody. */
#define HOPLITE_FOREVER INT64_MAX

/* Flags of calls, for their `flags`. */
#define HOPLITE_OWNED 1u         /* put, create, reduce: this client owns the object */
#define HOPLITE_ONLY_IF_OWNED 2u /* the answer is DELETED (of a put: NOT_FOUND) if nobody owns it */

/* Attaches to the node at this Unix socket.
     UNAVAILABLE  no node listens there
     PROTOCOL     the node speaks another version */
HOPLITE_C_EXPORT int hoplite_connect(const char* socket, int64_t timeout_ms,
                                     hoplite_client** client);
/* Cancels what waits, disowns all and refuses later calls. Buffers stay readable. */
HOPLITE_C_EXPORT void hoplite_client_close(hoplite_client* client);
/* Frees the handle. The connection ends with the last handle that was made through it. */
HOPLITE_C_EXPORT void hoplite_client_free(hoplite_client* client);

/* --- Put and create --- */
/* A flag for puts and creates: the bytes are an array of this dtype ("float32", ...), which
   hoplite_reduce takes and compares. An unknown dtype makes a flag that they refuse. */
HOPLITE_C_EXPORT unsigned hoplite_of(const char* dtype);
/* Stores a copy of `size` bytes. If all of `*id` is zero a random id is chosen, and written there.
   `metadata` (at most 4096 bytes; NULL: none) is what every get gives with the object.
     ALREADY_EXISTS, DELETED  the id can't be used
     NOT_FOUND                nobody owns it, and HOPLITE_ONLY_IF_OWNED was asked */
HOPLITE_C_EXPORT int hoplite_put(hoplite_client* client, hoplite_id* id, const void* data,
                                 size_t size, const void* metadata, size_t metadata_size,
                                 unsigned flags, int64_t timeout_ms);

/* An object that is being written in place. */
typedef struct hoplite_draft hoplite_draft;

/* The same without the copy: `size` bytes in the node's store, to be filled in place, front to back,
   by one thread at a time. */
HOPLITE_C_EXPORT int hoplite_create(hoplite_client* client, hoplite_id* id, size_t size,
                                    const void* metadata, size_t metadata_size, unsigned flags,
                                    int64_t timeout_ms, hoplite_draft** draft);
/* All of its bytes; must not be touched after seal, abort or free. */
HOPLITE_C_EXPORT void* hoplite_draft_data(hoplite_draft* draft);
/* In bytes. */
HOPLITE_C_EXPORT size_t hoplite_draft_size(const hoplite_draft* draft);
/* The first `prefix` bytes are written: others may have them. Per MiB is often enough. */
HOPLITE_C_EXPORT int hoplite_draft_advance(hoplite_draft* draft, size_t prefix);
/* All bytes are written. When it returns every node can get the object.
     ALREADY_EXISTS, DELETED  the object can't be created */
HOPLITE_C_EXPORT int hoplite_draft_seal(hoplite_draft* draft, int64_t timeout_ms);
/* Gives the memory back; nobody will ever see the object. */
HOPLITE_C_EXPORT void hoplite_draft_abort(hoplite_draft* draft);
/* Frees the handle; aborts what was not sealed. */
HOPLITE_C_EXPORT void hoplite_draft_free(hoplite_draft* draft);

/* The object will not come: whoever waits for it, or asks for it later, gets this code and this
   message (text, about 4,000 bytes of it); HOPLITE_FAILED says nothing more. What holds for a put
   holds for this: the first of several counts. */
HOPLITE_C_EXPORT int hoplite_fail(hoplite_client* client, const hoplite_id* id, int code,
                                  const char* message, unsigned flags, int64_t timeout_ms);

/* --- Get --- */
/* An object's bytes, read-only; pins them at the node while it lives. */
typedef struct hoplite_buffer hoplite_buffer;

/* Waits until the object exists, brings it to the node and pins it there until the buffer is freed.
     DELETED             it was deleted, or HOPLITE_ONLY_IF_OWNED was asked and nobody owns it
     RESOURCE_EXHAUSTED  it is larger than the node's store: hoplite_get_into can have it
     TIMEOUT             says why: it was not created, its holders were lost, ... */
HOPLITE_C_EXPORT int hoplite_get(hoplite_client* client, const hoplite_id* id, unsigned flags,
                                 int64_t timeout_ms, hoplite_buffer** buffer);
/* Read-only shared memory, aligned to 64 bytes; valid until the buffer is freed. */
HOPLITE_C_EXPORT const void* hoplite_buffer_data(const hoplite_buffer* buffer);
/* In bytes. */
HOPLITE_C_EXPORT size_t hoplite_buffer_size(const hoplite_buffer* buffer);
/* What its creator gave with it, valid until the buffer is freed; its size in `*size`. */
HOPLITE_C_EXPORT const void* hoplite_buffer_metadata(const hoplite_buffer* buffer, size_t* size);
/* Frees the handle, and with it the pin. */
HOPLITE_C_EXPORT void hoplite_buffer_free(hoplite_buffer* buffer);

/* Into the caller's memory, while the bytes arrive. The object's size goes to `*size` (may be NULL).
   After an error the memory's contents are undefined.
     INVALID_ARGUMENT  the object has more than `capacity` bytes */
HOPLITE_C_EXPORT int hoplite_get_into(hoplite_client* client, const hoplite_id* id, void* into,
                                      size_t capacity, unsigned flags, int64_t timeout_ms,
                                      size_t* size);

/* Each of `count` objects, under one timeout: `buffers[i]`, a new handle, where `codes[i]` is
   HOPLITE_OK, else NULL. Returns the first code that is not. Both arrays have `count` places.
     RESOURCE_EXHAUSTED  (of one) it has no room in the node's store beside the others */
HOPLITE_C_EXPORT int hoplite_get_many(hoplite_client* client, const hoplite_id* ids, size_t count,
                                      unsigned flags, int64_t timeout_ms, hoplite_buffer** buffers,
                                      int* codes);

/* Waits until `wanted` of the `count` objects (at most 16384) exist; nothing is fetched. `exists`
   has `count` bytes: 1 for each that exists, 0 for the others. At the deadline fewer may: that is no
   error. */
HOPLITE_C_EXPORT int hoplite_wait(hoplite_client* client, const hoplite_id* ids, size_t count,
                                  size_t wanted, unsigned flags, int64_t timeout_ms,
                                  uint8_t* exists);

/* --- Owning and deleting --- */
/* An id that ever had an owner is deleted everywhere when its last owner is gone. Clients own.
     DELETED             its last owner is gone, or it was deleted
     RESOURCE_EXHAUSTED  the node's clients own as many ids as it allows */
HOPLITE_C_EXPORT int hoplite_own(hoplite_client* client, const hoplite_id* id, int64_t timeout_ms);
/* Also an id that this client did not own. */
HOPLITE_C_EXPORT int hoplite_disown(hoplite_client* client, const hoplite_id* id,
                                    int64_t timeout_ms);
/* Deletes `count` objects everywhere, also ids that don't exist (yet). After an error some may not
   have been deleted: delete all again. */
HOPLITE_C_EXPORT int hoplite_delete(hoplite_client* client, const hoplite_id* ids, size_t count,
                                    int64_t timeout_ms);

/* --- Requests: what is under way --- */
/* A put, a get, a get_into or a reduction under way. */
typedef struct hoplite_request hoplite_request;

/* As hoplite_put; returns at once. The bytes must be there, and unchanged, until it is ready. */
HOPLITE_C_EXPORT int hoplite_put_async(hoplite_client* client, hoplite_id* id, const void* data,
                                       size_t size, const void* metadata, size_t metadata_size,
                                       unsigned flags, int64_t timeout_ms,
                                       hoplite_request** request);
/* As hoplite_get; returns at once. */
HOPLITE_C_EXPORT int hoplite_get_async(hoplite_client* client, const hoplite_id* id, unsigned flags,
                                       int64_t timeout_ms, hoplite_request** request);

/* As hoplite_get_into; returns at once. The memory must be there until the request is ready or freed. */
HOPLITE_C_EXPORT int hoplite_get_into_async(hoplite_client* client, const hoplite_id* id,
                                            void* into, size_t capacity, unsigned flags,
                                            int64_t timeout_ms, hoplite_request** request);

/* More flags, of a reduction. */
#define HOPLITE_EVERYONE_READS 4u /* each node that has a source reads the target: an allreduce */
#define HOPLITE_FIXED_ORDER 8u    /* fold in the order of the sources: the same bits each time */
#define HOPLITE_ROOT_HERE 16u     /* the target's first complete copy is made on this node */

/* Makes one object of `count` arrays, folded element by element where they are; returns at once.
   Anybody may get the target meanwhile. `op` is "sum", "prod", "min", "max", "mean", "and", "or", "xor";
   `dtype` "float32", "int64", ...; NULL: that of the first source that exists, see hoplite_of. Only the first `num_objects` that exist are used; zero: all. If all
   of `*target` is zero a random id is chosen, and written there. If the request is freed the
   reduction goes on.
     INVALID_ARGUMENT  op and dtype don't fit, or there are too many sources */
HOPLITE_C_EXPORT int hoplite_reduce(hoplite_client* client, const hoplite_id* sources, size_t count,
                                    size_t num_objects, const char* op, const char* dtype,
                                    hoplite_id* target, unsigned flags, int64_t timeout_ms,
                                    hoplite_request** request);

/* 1: hoplite_request_wait would return at once; 0: it would not. */
HOPLITE_C_EXPORT int hoplite_request_ready(const hoplite_request* request);
/* Waits for the outcome, each time it is asked for.
     TIMEOUT       not there yet: the request goes on, wait again; or its own timeout passed
     (the call's)  those of the call that made the request */
HOPLITE_C_EXPORT int hoplite_request_wait(hoplite_request* request, int64_t timeout_ms);
/* Of a get that is ready: its buffer, a new handle. */
HOPLITE_C_EXPORT int hoplite_request_buffer(hoplite_request* request, hoplite_buffer** buffer);
/* Of a get_into that is ready: the object's size, in bytes. */
HOPLITE_C_EXPORT int hoplite_request_size(hoplite_request* request, size_t* size);
/* Of a reduction that is ready. `used` has a byte for each source: 1 if it is in the target. */
HOPLITE_C_EXPORT int hoplite_request_used(hoplite_request* request, uint8_t* used);
/* Gives up: its outcome is CANCELLED, unless it was there already. */
HOPLITE_C_EXPORT void hoplite_request_cancel(hoplite_request* request);
/* Frees the handle. Cancels a put or a get that is not ready; no callback runs afterwards. */
HOPLITE_C_EXPORT void hoplite_request_free(hoplite_request* request);

/* Calls fn(argument) once, when the request is ready: soon, on the client's own thread. `fn` must
   return soon and wait for nothing of this client; hoplite_request_wait with timeout 0 is fine. */
HOPLITE_C_EXPORT int hoplite_request_on_ready(hoplite_request* request, void (*fn)(void* argument),
                                              void* argument);

/* --- Completions: requests that became ready, and a descriptor for poll() --- */
/* Tells of many requests, which of them became ready. */
typedef struct hoplite_completions hoplite_completions;

/* Opens a descriptor.
     RESOURCE_EXHAUSTED  this process has no more descriptors */
HOPLITE_C_EXPORT int hoplite_completions_new(hoplite_completions** completions);
/* Readable while hoplite_completions_next has something to give. Not to be read or closed. */
HOPLITE_C_EXPORT int hoplite_completions_descriptor(const hoplite_completions* completions);
/* When the request is ready, `tag` comes out of hoplite_completions_next, once; not if the request
   is freed before it is ready. */
HOPLITE_C_EXPORT int hoplite_completions_add(hoplite_completions* completions,
                                             hoplite_request* request, void* tag);
/* 1: a request became ready, `*tag` is its; 0: none is left. Never waits. */
HOPLITE_C_EXPORT int hoplite_completions_next(hoplite_completions* completions, void** tag);
/* Closes the descriptor. Requests that were added stay. */
HOPLITE_C_EXPORT void hoplite_completions_free(hoplite_completions* completions);

/* --- What is known of an object --- */
/* What the directory knew of an object when it was asked. */
typedef struct hoplite_info hoplite_info;

/* Asks for size, owners and holders.
     NOT_FOUND  its directory shard does not know the object
     DELETED    it was deleted */
HOPLITE_C_EXPORT int hoplite_get_info(hoplite_client* client, const hoplite_id* id,
                                      int64_t timeout_ms, hoplite_info** info);
/* Of the whole object, in bytes. */
HOPLITE_C_EXPORT uint64_t hoplite_info_size(const hoplite_info* info);
HOPLITE_C_EXPORT size_t
hoplite_info_owners(const hoplite_info* info); /* nodes whose clients own it */
HOPLITE_C_EXPORT int hoplite_info_in_directory(const hoplite_info* info); /* 1: small, kept there */
/* What its creator gave with it, valid until the info is freed; its size in `*size`. */
HOPLITE_C_EXPORT const void* hoplite_info_metadata(const hoplite_info* info, size_t* size);
/* How many nodes have it, or a part. */
HOPLITE_C_EXPORT size_t hoplite_info_holders(const hoplite_info* info);
/* Holder number `index`, from 0: its node's name (valid until the info is freed), and how many bytes
   it has, as last reported. NULL if there is none. */
HOPLITE_C_EXPORT const char* hoplite_info_holder(const hoplite_info* info, size_t index,
                                                 uint64_t* valid_bytes);
/* Frees the handle, and the names that it gave. */
HOPLITE_C_EXPORT void hoplite_info_free(hoplite_info* info);

/* Why the object is not complete at the client's node, in words for people. Refuses no id. `*text` ends
   with a zero; hoplite_text_free frees it. */
HOPLITE_C_EXPORT int hoplite_why(hoplite_client* client, const hoplite_id* id, int64_t timeout_ms,
                                 char** text);
/* Frees what hoplite_why gave. */
HOPLITE_C_EXPORT void hoplite_text_free(char* text);

/* A picture of the cluster. */
typedef struct hoplite_status hoplite_status;

/* One node of it. The texts are valid until the status is freed. */
typedef struct hoplite_node_status {
  const char* name;      /* unique in the cluster */
  const char* address;   /* HOST:PORT of its data plane */
  int32_t alive;         /* 0: its session with the directory is interrupted */
  uint64_t memory_bytes; /* the store's size; 0 where the asked node does not know, as the next */
  uint64_t used_bytes;   /* what of it is taken */
  uint64_t bytes_per_second; /* measured rate of its link; 0: not measured yet */
} hoplite_node_status;

/* Asks the directory for all nodes, and how many objects there are. */
HOPLITE_C_EXPORT int hoplite_get_status(hoplite_client* client, int64_t timeout_ms,
                                        hoplite_status** status);
/* Of all shards. */
HOPLITE_C_EXPORT uint64_t hoplite_status_objects(const hoplite_status* status);
HOPLITE_C_EXPORT size_t hoplite_status_nodes(const hoplite_status* status); /* how many */
/* Node number `index`, from 0.
     NOT_FOUND  there is none of this number */
HOPLITE_C_EXPORT int hoplite_status_node(const hoplite_status* status, size_t index,
                                         hoplite_node_status* node);
/* Frees the handle, and the texts that it gave. */
HOPLITE_C_EXPORT void hoplite_status_free(hoplite_status* status);

/* --- Subscriptions: who gets and loses copies --- */
/* The changes of an object's locations from the call on, in order. */
typedef struct hoplite_subscription hoplite_subscription;

/* Kinds of changes; later versions may add some. */
enum {
  HOPLITE_LOCATION_PARTIAL = 1,     /* the node has begun to have a copy */
  HOPLITE_LOCATION_COMPLETE = 2,    /* the node has all of it */
  HOPLITE_LOCATION_GONE = 3,        /* the node no longer has it */
  HOPLITE_LOCATION_IN_DIRECTORY = 4 /* the directory holds the bytes; no node is named */
};

/* One change. */
typedef struct hoplite_location {
  int32_t kind;   /* HOPLITE_LOCATION_PARTIAL, ... */
  char node[256]; /* its name, ends with a zero */
} hoplite_location;

/* Changes from now on. */
HOPLITE_C_EXPORT int hoplite_subscribe(hoplite_client* client, const hoplite_id* id,
                                       int64_t timeout_ms, hoplite_subscription** subscription);
/* The next change, waiting for one if there is none.
     TIMEOUT             nothing changed
     RESOURCE_EXHAUSTED  too many changes were not fetched: the subscription has ended */
HOPLITE_C_EXPORT int hoplite_subscription_next(hoplite_subscription* subscription,
                                               int64_t timeout_ms, hoplite_location* location);
/* Ends it. */
HOPLITE_C_EXPORT void hoplite_subscription_free(hoplite_subscription* subscription);

/* --- Taking a node out of the cluster --- */

/* The outcome of a drain. */
typedef struct hoplite_drained hoplite_drained;

/* The client's node takes no new object from now on, for good, and hands on what only it has.
   Returns when nothing is left that only it has, or at the timeout, which is no error. */
HOPLITE_C_EXPORT int hoplite_drain(hoplite_client* client, int64_t timeout_ms,
                                   hoplite_drained** drained);
/* So many objects were handed on. */
HOPLITE_C_EXPORT uint64_t hoplite_drained_handed_on(const hoplite_drained* drained);
/* So many objects are left: only this node may have them, or it still makes them. */
HOPLITE_C_EXPORT uint64_t hoplite_drained_left(const hoplite_drained* drained);
/* The first thousand that are left, by number from 0: the error's code (HOPLITE_OK: there is none
   of this number), the id and a sentence, valid until the handle is freed. Both may be NULL. */
HOPLITE_C_EXPORT int hoplite_drained_why(const hoplite_drained* drained, size_t index,
                                         hoplite_id* id, const char** sentence);
/* Frees the handle. */
HOPLITE_C_EXPORT void hoplite_drained_free(hoplite_drained* drained);

/* --- Registers: small values with a number, to compare and set --- */
/* A register that is open here; it lives while somebody has it open. */
typedef struct hoplite_register hoplite_register;

#define HOPLITE_REGISTER_BYTES 1024 /* what one holds at most */

/* What a register holds. Of one that nobody wrote the numbers and the size are zero. */
typedef struct hoplite_entry {
  uint64_t incarnation;               /* with `sequence`: the number of the write that it is of */
  uint64_t sequence;                  /* counts up within one incarnation */
  int32_t has_writer;                 /* 1: whoever claimed it last has it open, and did not die */
  size_t size;                        /* of the value, in bytes */
  char value[HOPLITE_REGISTER_BYTES]; /* the first `size` bytes are used */
} hoplite_entry;

/* Opens it by its name, which need not exist. */
HOPLITE_C_EXPORT int hoplite_register_open(hoplite_client* client, const char* name,
                                           int64_t timeout_ms, hoplite_register** opened);
/* What it holds. */
HOPLITE_C_EXPORT int hoplite_register_get(hoplite_register* opened, int64_t timeout_ms,
                                          hoplite_entry* entry);
/* Sets the value if the register still has the number of `expected` (NULL: nobody wrote it). `*entry` is
   then what was written, and `*written` 1; else what it holds instead, and 0. With `writer` 1 this
   handle becomes the register's writer. */
HOPLITE_C_EXPORT int hoplite_register_compare_and_set(hoplite_register* opened,
                                                      const hoplite_entry* expected,
                                                      const void* value, size_t size, int writer,
                                                      int64_t timeout_ms, int* written,
                                                      hoplite_entry* entry);
/* Waits for a later entry than `after` (NULL: any), or until its writer is gone. */
HOPLITE_C_EXPORT int hoplite_register_changed(hoplite_register* opened, const hoplite_entry* after,
                                              int64_t timeout_ms, hoplite_entry* entry);
/* Closes it. */
HOPLITE_C_EXPORT void hoplite_register_free(hoplite_register* opened);

/* --- Channels: versions of a value --- */
/* A channel that is open here, to publish or to read. */
typedef struct hoplite_channel hoplite_channel;
/* A version of its value; pins what its parts lie in. */
typedef struct hoplite_snapshot hoplite_snapshot;

/* A part of a value. */
typedef struct hoplite_part {
  const char* name;      /* no other part of the version has it */
  const void* data;      /* may be NULL if `size` is 0 */
  size_t size;           /* in bytes */
  const char* dtype;     /* of its elements, "float32"; NULL or "": none */
  const uint64_t* shape; /* `dimensions` numbers, in elements; NULL if there are none */
  size_t dimensions;     /* of `shape` */
} hoplite_part;

#define HOPLITE_TAKE_OVER 32u /* of a channel: this becomes the publisher now */
#define HOPLITE_DELTAS 64u    /* of a channel: of a part that changed little only that is sent */

/* Opens it by its name, which need not exist. A publisher keeps `keep` versions, at least 1. */
HOPLITE_C_EXPORT int hoplite_channel_open(hoplite_client* client, const char* name, uint32_t keep,
                                          unsigned flags, int64_t timeout_ms,
                                          hoplite_channel** channel);
/* Makes copies of these parts the newest version; its number goes to `*version` (may be NULL).
     CONFLICT  the channel has another publisher */
HOPLITE_C_EXPORT int hoplite_channel_publish(hoplite_channel* channel, const hoplite_part* parts,
                                             size_t count, int64_t timeout_ms, uint64_t* version);
/* The newest version from `at_least` on, waiting for it; all of it, or an error.
     PUBLISHER_GONE  it is not there, and the publisher is gone */
HOPLITE_C_EXPORT int hoplite_channel_get(hoplite_channel* channel, uint64_t at_least,
                                         int64_t timeout_ms, hoplite_snapshot** snapshot);
/* The number that its publisher gave it. */
HOPLITE_C_EXPORT uint64_t hoplite_snapshot_version(const hoplite_snapshot* snapshot);
HOPLITE_C_EXPORT size_t hoplite_snapshot_parts(const hoplite_snapshot* snapshot); /* how many */
/* Part number `index`, from 0, in the order of the publish; valid until the snapshot is freed.
     NOT_FOUND  there is none of this number */
HOPLITE_C_EXPORT int hoplite_snapshot_part(const hoplite_snapshot* snapshot, size_t index,
                                           hoplite_part* part);
/* Frees the handle, and the pins. */
HOPLITE_C_EXPORT void hoplite_snapshot_free(hoplite_snapshot* snapshot);
/* Closes it: what it published goes. */
HOPLITE_C_EXPORT void hoplite_channel_free(hoplite_channel* channel);

/* --- A node in this process --- */
/* This process's member of the cluster. */
typedef struct hoplite_node hoplite_node;

/* What it is started with. Set all of it to zero first; NULL and 0 are the defaults. */
typedef struct hoplite_node_config {
  const char* const* directory; /* HOST:PORT of each shard, `directory_count` of them; required */
  size_t directory_count;       /* of `directory` */
  uint64_t memory_bytes;        /* shared memory for objects, at least 1 MiB; required */
  const char* listen;           /* HOST:PORT for peers; NULL: a free port of 127.0.0.1 */
  const char* advertise;        /* what peers are told instead of the host of `listen` */
  const char* socket;           /* Unix socket for worker processes; NULL: none */
  const char* name;             /* unique in the cluster; NULL: derived from its id */
  const char* cluster;          /* the cluster's name; NULL: it has none */
  const char* tls_ca;      /* PEM file of authorities; this and the next two, or none of them */
  const char* tls_cert;    /* PEM file of the node's certificate */
  const char* tls_key;     /* PEM file of its private key */
  const char* secret_file; /* instead of these */
  int32_t insecure;        /* 1: may listen beyond loopback without either */
} hoplite_node_config;

/* Starts it: reserves the memory, listens, joins the directory, which need not be there yet.
     ALREADY_EXISTS  a live node has this name */
HOPLITE_C_EXPORT int hoplite_node_start(const hoplite_node_config* config, hoplite_node** node);
/* A new client of it. */
HOPLITE_C_EXPORT int hoplite_node_client(hoplite_node* node, hoplite_client** client);
/* Its name in the cluster, valid until it is freed. */
HOPLITE_C_EXPORT const char* hoplite_node_name(const hoplite_node* node);
/* Stops it and frees the handle: its objects are lost unless other nodes have them (hoplite_drain).
   Buffers stay readable. */
HOPLITE_C_EXPORT void hoplite_node_free(hoplite_node* node);

#ifdef __cplusplus
}
#endif

#endif /* HOPLITE_C_H_ */
