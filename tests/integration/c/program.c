/* Calls each function of hoplite/c.h against two nodes. usage: program SOCKET SOCKET DIRECTORY */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hoplite/c.h>

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "line %d: %s (last error: %s)\n", __LINE__, #condition, \
              hoplite_last_error());                                          \
      exit(1);                                                                \
    }                                                                         \
  } while (0)
#define OK(call) CHECK((call) == HOPLITE_OK)

enum { kSoon = 20000, kNumbers = 50000, kBytes = kNumbers * (int)sizeof(float) };

static hoplite_client* a;
static hoplite_client* b;
static float numbers[kNumbers];

static void versions_and_errors(void) {
  hoplite_client* none = NULL;
  CHECK(hoplite_c_version() >= HOPLITE_C_VERSION);
  CHECK(strchr(hoplite_version(), '.') != NULL);
  CHECK(strcmp(hoplite_error_name(HOPLITE_OK), "ok") == 0);
  CHECK(strcmp(hoplite_error_name(HOPLITE_PEER_LOST), "peer_lost") == 0);
  CHECK(strcmp(hoplite_error_name(99), "unknown") == 0);
  CHECK(strcmp(hoplite_error_name(256 + HOPLITE_TIMEOUT), "unknown") == 0);
  CHECK(strcmp(hoplite_last_error(), "") == 0);
  CHECK(hoplite_connect("/nowhere/h.sock", 1000, &none) == HOPLITE_UNAVAILABLE && none == NULL);
  CHECK(strstr(hoplite_last_error(), "/nowhere/h.sock") != NULL);
  CHECK(hoplite_connect(NULL, 0, &none) == HOPLITE_INVALID_ARGUMENT);
  CHECK(strcmp(hoplite_last_error(), "socket is NULL") == 0);
}

static void ids(void) {
  hoplite_id one = hoplite_id_from_name("one"), parsed, other = hoplite_id_random();
  char text[HOPLITE_ID_TEXT];
  OK(hoplite_id_parse("name:one", &parsed));
  CHECK(memcmp(&one, &parsed, sizeof one) == 0);
  hoplite_id_format(&other, text);
  CHECK(strlen(text) == 40);
  OK(hoplite_id_parse(text, &parsed));
  CHECK(memcmp(&other, &parsed, sizeof other) == 0);
  CHECK(hoplite_id_parse("short", &parsed) == HOPLITE_INVALID_ARGUMENT);
}

static void put_and_get(void) {
  hoplite_id id = {{0}}, missing = hoplite_id_from_name("missing");
  hoplite_buffer* buffer = NULL;
  float into[kNumbers];
  size_t size = 0;
  OK(hoplite_put(a, &id, numbers, kBytes, "about", 5, 0, kSoon));
  CHECK(hoplite_put(a, &id, numbers, kBytes, NULL, 0, 0, kSoon) == HOPLITE_ALREADY_EXISTS);
  CHECK(hoplite_put(a, &id, numbers, kBytes, NULL, 0, 1u << 30, kSoon) == HOPLITE_INVALID_ARGUMENT);
  OK(hoplite_get(b, &id, 0, kSoon, &buffer));
  CHECK(hoplite_buffer_size(buffer) == kBytes);
  CHECK(memcmp(hoplite_buffer_data(buffer), numbers, kBytes) == 0);
  CHECK(memcmp(hoplite_buffer_metadata(buffer, &size), "about", 5) == 0 && size == 5);
  hoplite_buffer_free(buffer);
  OK(hoplite_get_into(b, &id, into, sizeof into, 0, kSoon, &size));
  CHECK(size == kBytes && memcmp(into, numbers, kBytes) == 0);
  CHECK(hoplite_get_into(b, &id, into, 8, 0, kSoon, NULL) == HOPLITE_INVALID_ARGUMENT);
  buffer = NULL;
  CHECK(hoplite_get(b, &missing, 0, 50, &buffer) == HOPLITE_TIMEOUT && buffer == NULL);
  CHECK(hoplite_get(b, &missing, HOPLITE_ONLY_IF_OWNED, kSoon, &buffer) == HOPLITE_DELETED);
  OK(hoplite_delete(b, &id, 1, kSoon));
  CHECK(hoplite_get(b, &id, 0, kSoon, &buffer) == HOPLITE_DELETED);
}

static void drafts(void) {
  hoplite_id id = {{0}}, given_up = hoplite_id_from_name("given up");
  hoplite_draft* draft = NULL;
  hoplite_buffer* buffer = NULL;
  uint8_t exists = 1;
  OK(hoplite_create(a, &id, kBytes, NULL, 0, 0, kSoon, &draft));
  CHECK(hoplite_draft_size(draft) == kBytes);
  memcpy(hoplite_draft_data(draft), numbers, kBytes);
  OK(hoplite_draft_advance(draft, kBytes / 2));
  CHECK(hoplite_draft_advance(draft, 1) == HOPLITE_INVALID_ARGUMENT);
  OK(hoplite_draft_seal(draft, kSoon));
  hoplite_draft_free(draft);
  OK(hoplite_get(b, &id, 0, kSoon, &buffer));
  CHECK(memcmp(hoplite_buffer_data(buffer), numbers, kBytes) == 0);
  hoplite_buffer_free(buffer);
  OK(hoplite_create(a, &given_up, kBytes, NULL, 0, 0, kSoon, &draft));
  hoplite_draft_abort(draft);
  CHECK(hoplite_draft_seal(draft, kSoon) == HOPLITE_INVALID_ARGUMENT);
  hoplite_draft_free(draft);
  OK(hoplite_wait(b, &given_up, 1, 1, 0, 50, &exists));
  CHECK(exists == 0);
}

static void failing(void) {
  hoplite_id id = hoplite_id_from_name("failed");
  hoplite_buffer* buffer = NULL;
  CHECK(hoplite_fail(a, &id, HOPLITE_OK, "fine", 0, kSoon) == HOPLITE_INVALID_ARGUMENT);
  OK(hoplite_fail(a, &id, HOPLITE_FAILED, "its task raised", 0, kSoon));
  CHECK(hoplite_get(b, &id, 0, kSoon, &buffer) == HOPLITE_FAILED && buffer == NULL);
  CHECK(strstr(hoplite_last_error(), "its task raised") != NULL);
}

static void waiting(void) {
  hoplite_id two[2];
  uint8_t exist[2] = {9, 9};
  two[0] = hoplite_id_from_name("never");
  two[1] = hoplite_id_from_name("there");
  OK(hoplite_put(a, &two[1], "x", 1, NULL, 0, 0, kSoon));
  OK(hoplite_wait(b, two, 2, 1, 0, kSoon, exist));
  CHECK(exist[0] == 0 && exist[1] == 1);
  OK(hoplite_delete(b, two, 2, kSoon));
}

static void owning(void) {
  hoplite_id id = hoplite_id_from_name("owned"), unowned = hoplite_id_from_name("unowned");
  hoplite_buffer* buffer = NULL;
  int code = HOPLITE_OK, tries = 0;
  OK(hoplite_own(a, &id, kSoon));
  OK(hoplite_put(b, &id, "x", 1, NULL, 0, HOPLITE_ONLY_IF_OWNED | HOPLITE_OWNED, kSoon));
  CHECK(hoplite_put(b, &unowned, "x", 1, NULL, 0, HOPLITE_ONLY_IF_OWNED, kSoon) ==
        HOPLITE_NOT_FOUND);
  OK(hoplite_disown(a, &id, kSoon));
  OK(hoplite_disown(b, &id, kSoon));
  /* Its shard may not have heard yet; who owned it once more would keep it. */
  while ((code = hoplite_get(a, &id, HOPLITE_ONLY_IF_OWNED, kSoon, &buffer)) == HOPLITE_OK) {
    hoplite_buffer_free(buffer);
    CHECK(++tries < 2000);
    poll(NULL, 0, 10);
  }
  CHECK(code == HOPLITE_DELETED);
  CHECK(hoplite_own(a, &id, kSoon) == HOPLITE_DELETED);
}

static void* tag_of_ready(hoplite_completions* completions) {
  struct pollfd wanted = {hoplite_completions_descriptor(completions), POLLIN, 0};
  void* tag = NULL;
  CHECK(poll(&wanted, 1, kSoon) == 1);
  CHECK(hoplite_completions_next(completions, &tag) == 1);
  return tag;
}

static void requests(void) {
  hoplite_id id = hoplite_id_from_name("requested"), other = hoplite_id_from_name("other");
  hoplite_request *get = NULL, *put = NULL, *never = NULL;
  hoplite_completions* completions = NULL;
  hoplite_buffer* buffer = NULL;
  void* tag = NULL;
  OK(hoplite_completions_new(&completions));
  OK(hoplite_get_async(b, &id, 0, kSoon, &get));
  OK(hoplite_get_async(b, &other, 0, HOPLITE_FOREVER, &never));
  OK(hoplite_completions_add(completions, get, &get));
  OK(hoplite_completions_add(completions, never, &never));
  CHECK(hoplite_completions_next(completions, &tag) == 0);
  CHECK(hoplite_request_ready(get) == 0);
  CHECK(hoplite_request_wait(get, 0) == HOPLITE_TIMEOUT);
  OK(hoplite_put_async(a, &id, numbers, kBytes, NULL, 0, 0, kSoon, &put));
  OK(hoplite_request_wait(put, kSoon));
  CHECK(hoplite_request_buffer(put, &buffer) == HOPLITE_INVALID_ARGUMENT);
  CHECK(tag_of_ready(completions) == &get);
  CHECK(hoplite_request_ready(get) == 1);
  OK(hoplite_request_buffer(get, &buffer));
  CHECK(memcmp(hoplite_buffer_data(buffer), numbers, kBytes) == 0);
  hoplite_request_cancel(never);
  CHECK(tag_of_ready(completions) == &never);
  CHECK(hoplite_request_wait(never, 0) == HOPLITE_CANCELLED);
  CHECK(hoplite_completions_next(completions, &tag) == 0);
  hoplite_completions_free(completions);
  hoplite_request_free(get);
  hoplite_request_free(put);
  hoplite_request_free(never);
  CHECK(memcmp(hoplite_buffer_data(buffer), numbers, kBytes) == 0);
  hoplite_buffer_free(buffer);
}

/* On the client's thread: tells the main thread, which sleeps in poll(). */
static void ready(void* completions_and_request[2]) {
  CHECK(hoplite_completions_add(completions_and_request[0], completions_and_request[1], NULL) ==
        HOPLITE_OK);
}
static void ready_is_called(void* argument) { ready(argument); }

/* What a put notes of its elements a reduction takes, and compares. */
static void noted_elements(void) {
  const double one = 1, two = 2;
  hoplite_id sources[2], target = {{0}};
  hoplite_request* request = NULL;
  hoplite_buffer* buffer = NULL;
  sources[0] = hoplite_id_random();
  sources[1] = hoplite_id_random();
  CHECK(hoplite_put(a, &sources[0], &one, sizeof one, NULL, 0, hoplite_of("double"), kSoon) ==
        HOPLITE_INVALID_ARGUMENT);
  OK(hoplite_put(a, &sources[0], &one, sizeof one, NULL, 0, hoplite_of("float64"), kSoon));
  OK(hoplite_put(a, &sources[1], &two, sizeof two, NULL, 0, hoplite_of("float64"), kSoon));
  OK(hoplite_reduce(a, sources, 2, 0, "sum", NULL, &target, 0, kSoon, &request));
  OK(hoplite_request_wait(request, kSoon));
  hoplite_request_free(request);
  OK(hoplite_get(b, &target, 0, kSoon, &buffer));
  CHECK(*(const double*)hoplite_buffer_data(buffer) == 3);
  hoplite_buffer_free(buffer);
  target = hoplite_id_random();
  OK(hoplite_reduce(a, sources, 2, 0, "sum", "float32", &target, 0, kSoon, &request));
  CHECK(hoplite_request_wait(request, kSoon) == HOPLITE_INVALID_ARGUMENT);
  CHECK(strstr(hoplite_last_error(), "float64") != NULL);
  hoplite_request_free(request);
}

static void reductions(void) {
  hoplite_id sources[3], target = {{0}};
  uint8_t used[3] = {9, 9, 9};
  hoplite_request* request = NULL;
  hoplite_completions* completions = NULL;
  hoplite_buffer* buffer = NULL;
  void* both[2];
  const float* sums;
  sources[0] = hoplite_id_from_name("never put");
  sources[1] = hoplite_id_random();
  sources[2] = hoplite_id_random();
  CHECK(hoplite_reduce(a, sources, 3, 0, "summe", "float32", &target, 0, kSoon, &request) ==
        HOPLITE_INVALID_ARGUMENT);
  OK(hoplite_completions_new(&completions));
  OK(hoplite_reduce(a, sources, 3, 2, "sum", "float32", &target, HOPLITE_OWNED, kSoon, &request));
  both[0] = completions;
  both[1] = request;
  OK(hoplite_request_on_ready(request, ready_is_called, both));
  OK(hoplite_put(a, &sources[1], numbers, kBytes, NULL, 0, 0, kSoon));
  OK(hoplite_put(b, &sources[2], numbers, kBytes, NULL, 0, 0, kSoon));
  CHECK(tag_of_ready(completions) == NULL);
  OK(hoplite_request_wait(request, 0));
  OK(hoplite_request_used(request, used));
  CHECK(used[0] == 0 && used[1] == 1 && used[2] == 1);
  OK(hoplite_get(b, &target, 0, kSoon, &buffer));
  sums = hoplite_buffer_data(buffer);
  CHECK(hoplite_buffer_size(buffer) == kBytes);
  for (int i = 0; i < kNumbers; ++i) CHECK(sums[i] == 2 * numbers[i]);
  hoplite_buffer_free(buffer);
  hoplite_request_free(request);
  hoplite_completions_free(completions);
}

static void knowledge(void) {
  hoplite_id id = hoplite_id_from_name("known");
  hoplite_subscription* subscription = NULL;
  hoplite_location location;
  hoplite_info* info = NULL;
  uint64_t valid = 0;
  CHECK(hoplite_get_info(a, &id, kSoon, &info) == HOPLITE_NOT_FOUND);
  OK(hoplite_subscribe(b, &id, kSoon, &subscription));
  CHECK(hoplite_subscription_next(subscription, 0, &location) == HOPLITE_TIMEOUT);
  OK(hoplite_put(a, &id, numbers, kBytes, NULL, 0, HOPLITE_OWNED, kSoon));
  do {
    OK(hoplite_subscription_next(subscription, kSoon, &location));
    CHECK(strcmp(location.node, "n1") == 0);
  } while (location.kind != HOPLITE_LOCATION_COMPLETE);
  hoplite_subscription_free(subscription);
  OK(hoplite_get_info(b, &id, kSoon, &info));
  CHECK(hoplite_info_size(info) == kBytes && hoplite_info_owners(info) == 1);
  CHECK(hoplite_info_in_directory(info) == 0 && hoplite_info_holders(info) == 1);
  CHECK(strcmp(hoplite_info_holder(info, 0, &valid), "n1") == 0 && valid == kBytes);
  CHECK(hoplite_info_holder(info, 1, NULL) == NULL);
  hoplite_info_free(info);
}

static void more_knowledge(void) {
  hoplite_id id = hoplite_id_from_name("with metadata");
  hoplite_info* info = NULL;
  hoplite_status* status = NULL;
  hoplite_node_status node;
  size_t size = 0;
  char* why = NULL;
  OK(hoplite_why(a, &id, kSoon, &why));
  CHECK(strlen(why) > 0);
  hoplite_text_free(why);
  OK(hoplite_put(a, &id, numbers, kBytes, "about", 5, 0, kSoon));
  OK(hoplite_get_info(a, &id, kSoon, &info));
  CHECK(memcmp(hoplite_info_metadata(info, &size), "about", 5) == 0 && size == 5);
  hoplite_info_free(info);
  OK(hoplite_get_status(b, kSoon, &status));
  CHECK(hoplite_status_objects(status) > 0 && hoplite_status_nodes(status) >= 2);
  OK(hoplite_status_node(status, 0, &node));
  CHECK(strchr(node.address, ':') != NULL && node.alive == 1 && strlen(node.name) > 0);
  CHECK(hoplite_status_node(status, 99, &node) == HOPLITE_NOT_FOUND);
  hoplite_status_free(status);
}

static void many(void) {
  hoplite_id ids[2];
  hoplite_buffer* buffers[2];
  hoplite_request* request = NULL;
  int codes[2];
  float into[kNumbers];
  size_t size = 0;
  ids[0] = hoplite_id_from_name("of many");
  ids[1] = hoplite_id_from_name("missing of many");
  OK(hoplite_get_into_async(b, &ids[0], into, sizeof into, 0, kSoon, &request));
  CHECK(hoplite_request_ready(request) == 0);
  OK(hoplite_put(a, &ids[0], numbers, kBytes, NULL, 0, 0, kSoon));
  OK(hoplite_request_wait(request, kSoon));
  OK(hoplite_request_size(request, &size));
  CHECK(size == kBytes && memcmp(into, numbers, kBytes) == 0);
  CHECK(hoplite_request_buffer(request, &buffers[0]) == HOPLITE_INVALID_ARGUMENT);
  hoplite_request_free(request);
  CHECK(hoplite_get_many(b, ids, 2, 0, 100, buffers, codes) == HOPLITE_TIMEOUT);
  CHECK(codes[0] == HOPLITE_OK && codes[1] == HOPLITE_TIMEOUT && buffers[1] == NULL);
  CHECK(memcmp(hoplite_buffer_data(buffers[0]), numbers, kBytes) == 0);
  hoplite_buffer_free(buffers[0]);
}

static void registers(void) {
  hoplite_register *mine = NULL, *theirs = NULL;
  hoplite_entry entry, seen;
  int written = 0;
  OK(hoplite_register_open(a, "leader", kSoon, &mine));
  OK(hoplite_register_open(b, "leader", kSoon, &theirs));
  OK(hoplite_register_get(mine, kSoon, &entry));
  CHECK(entry.incarnation == 0 && entry.size == 0);
  OK(hoplite_register_compare_and_set(mine, NULL, "me", 2, 1, kSoon, &written, &entry));
  CHECK(written == 1 && entry.size == 2 && memcmp(entry.value, "me", 2) == 0);
  OK(hoplite_register_changed(theirs, NULL, kSoon, &seen));
  CHECK(seen.has_writer == 1 && seen.sequence == entry.sequence);
  OK(hoplite_register_compare_and_set(theirs, NULL, "us", 2, 0, kSoon, &written, &seen));
  CHECK(written == 0 && memcmp(seen.value, "me", 2) == 0);
  hoplite_register_free(mine);
  OK(hoplite_register_changed(theirs, &seen, kSoon, &entry));
  CHECK(entry.has_writer == 0);
  hoplite_register_free(theirs);
}

static void channels(void) {
  hoplite_channel *publisher = NULL, *reader = NULL;
  hoplite_snapshot* snapshot = NULL;
  const uint64_t shape[2] = {kNumbers / 2, 2};
  hoplite_part parts[1] = {{"weights", NULL, kBytes, "float32", NULL, 2}}, part;
  uint64_t version = 0;
  OK(hoplite_channel_open(a, "model", 2, HOPLITE_DELTAS, kSoon, &publisher));
  OK(hoplite_channel_open(b, "model", 2, 0, kSoon, &reader));
  CHECK(hoplite_channel_publish(publisher, parts, 1, kSoon, NULL) == HOPLITE_INVALID_ARGUMENT);
  parts[0].data = numbers;
  parts[0].shape = shape;
  OK(hoplite_channel_publish(publisher, parts, 1, kSoon, &version));
  OK(hoplite_channel_get(reader, version, kSoon, &snapshot));
  CHECK(hoplite_snapshot_version(snapshot) == version && hoplite_snapshot_parts(snapshot) == 1);
  OK(hoplite_snapshot_part(snapshot, 0, &part));
  CHECK(strcmp(part.name, "weights") == 0 && strcmp(part.dtype, "float32") == 0);
  CHECK(part.dimensions == 2 && part.shape[0] == shape[0] && part.shape[1] == 2);
  CHECK(part.size == kBytes && memcmp(part.data, numbers, kBytes) == 0);
  CHECK(hoplite_snapshot_part(snapshot, 1, &part) == HOPLITE_NOT_FOUND);
  hoplite_snapshot_free(snapshot);
  hoplite_channel_free(publisher);
  hoplite_channel_free(reader);
}

static void own_node(const char* directory) {
  hoplite_node_config config;
  hoplite_node* node = NULL;
  hoplite_client* client = NULL;
  hoplite_id id = hoplite_id_from_name("of its own node");
  hoplite_buffer* buffer = NULL;
  memset(&config, 0, sizeof config);
  CHECK(hoplite_node_start(&config, &node) == HOPLITE_INVALID_ARGUMENT && node == NULL);
  config.directory = &directory;
  config.directory_count = 1;
  config.memory_bytes = 16 << 20;
  config.name = "in-c";
  OK(hoplite_node_start(&config, &node));
  CHECK(strcmp(hoplite_node_name(node), "in-c") == 0);
  OK(hoplite_node_client(node, &client));
  OK(hoplite_put(client, &id, numbers, kBytes, NULL, 0, 0, kSoon));
  OK(hoplite_get(a, &id, 0, kSoon, &buffer));
  CHECK(memcmp(hoplite_buffer_data(buffer), numbers, kBytes) == 0);
  hoplite_buffer_free(buffer);
  hoplite_client_free(client);
  hoplite_node_free(node);
}

static void draining(void) {
  hoplite_id id = hoplite_id_from_name("handed on");
  hoplite_drained* drained = NULL;
  hoplite_buffer* buffer = NULL;
  const char* why = NULL;
  OK(hoplite_put(b, &id, numbers, kBytes, NULL, 0, 0, kSoon));
  OK(hoplite_drain(b, kSoon, &drained));
  CHECK(hoplite_drained_handed_on(drained) >= 1 && hoplite_drained_left(drained) == 0);
  CHECK(hoplite_drained_why(drained, 0, NULL, &why) == HOPLITE_OK && why == NULL);
  hoplite_drained_free(drained);
  OK(hoplite_get(a, &id, 0, kSoon, &buffer));
  CHECK(memcmp(hoplite_buffer_data(buffer), numbers, kBytes) == 0);
  hoplite_buffer_free(buffer);
  id = hoplite_id_random();
  CHECK(hoplite_put(b, &id, "x", 1, NULL, 0, 0, kSoon) == HOPLITE_UNAVAILABLE);
}

static void ends(void) {
  hoplite_id id = hoplite_id_from_name("late");
  hoplite_buffer* buffer = NULL;
  hoplite_id kept = {{0}};
  OK(hoplite_put(a, &kept, "kept", 4, NULL, 0, 0, kSoon));
  OK(hoplite_get(b, &kept, 0, kSoon, &buffer));
  draining();
  hoplite_client_close(b);
  CHECK(hoplite_put(b, &id, "x", 1, NULL, 0, 0, kSoon) == HOPLITE_CANCELLED);
  hoplite_client_free(b);
  hoplite_client_free(a);
  CHECK(memcmp(hoplite_buffer_data(buffer), "kept", 4) == 0);
  hoplite_buffer_free(buffer);
  hoplite_client_free(NULL);
}

int main(int count, char** arguments) {
  CHECK(count == 4);
  for (int i = 0; i < kNumbers; ++i) numbers[i] = (float)i;
  versions_and_errors();
  ids();
  OK(hoplite_connect(arguments[1], kSoon, &a));
  OK(hoplite_connect(arguments[2], kSoon, &b));
  put_and_get();
  drafts();
  failing();
  waiting();
  owning();
  requests();
  reductions();
  noted_elements();
  knowledge();
  more_knowledge();
  many();
  registers();
  channels();
  own_node(arguments[3]);
  ends();
  puts("all is well");
  return 0;
}
