// View, PrivateView and Draft: an object's bytes through Python's buffer protocol. Every memoryview
// and array over them keeps the C++ object alive, and with it the pin and the mapping.
#include "memory.h"

#include <atomic>
#include <string>

#include <nanobind/stl/optional.h>

#include "bind.h"
#include "errors.h"
#include "gil.h"
#include "shown.h"

namespace hoplite::python {

namespace nb = nanobind;

namespace {

// An exporter of one contiguous piece of bytes. `bytes` tells which, `writable` for whom.
template <typename T, bool writable>
int ExportBuffer(PyObject* self, Py_buffer* out, int flags) {
  T* object = nb::inst_ptr<T>(nb::handle(self));
  if constexpr (requires { object->open(); }) {
    if (!object->open()) {
      PyErr_SetString(PyExc_ValueError, "the draft was sealed or aborted");
      return -1;
    }
  }
  const auto bytes = object->bytes();
  // CPython wants an address also for no bytes.
  static std::byte nothing{};
  void* address = bytes.empty() ? &nothing : const_cast<std::byte*>(bytes.data());
  return PyBuffer_FillInfo(out, self, address, static_cast<Py_ssize_t>(bytes.size()),
                           writable ? 0 : 1, flags);
}

template <typename T, bool writable>
PyType_Slot buffer_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(&ExportBuffer<T, writable>)}, {0, nullptr}};

// Of all views in this process.
std::atomic<std::int64_t> views{0};
std::atomic<std::int64_t> view_bytes{0};

void CountViews(std::int64_t change, std::uint64_t bytes) {
  views += change;
  view_bytes += change * static_cast<std::int64_t>(bytes);
}

}  // namespace

Counted::Counted(std::uint64_t bytes) : bytes_(bytes) { CountViews(1, bytes); }

Counted::~Counted() {
  if (bytes_) CountViews(-1, *bytes_);
}

std::string ViewsOfThisProcess() {
  if (views == 0) return {};
  return "; " + std::to_string(views) + " views in this process hold " +
         std::to_string(view_bytes) + " bytes of objects";
}

View::~View() {
  // The last pin tells the node: a system call.
  const Unlocked unlocked;
  buffer_ = Buffer();
}

PrivateView View::MapPrivate() const {
  return PrivateView(WithoutGil([this] { return buffer_.MapPrivate(); }));
}

PrivateView::~PrivateView() {
  const Unlocked unlocked;
  buffer_ = PrivateBuffer();
}

void OpenDraft::Advance(std::uint64_t prefix_bytes) {
  const Unlocked unlocked;
  ValueOf(draft().Advance(prefix_bytes));
  advanced_ = prefix_bytes;
}

const char* OpenDraft::state() const {
  if (open()) return "open";
  return state_ == State::kSealed ? "sealed" : "aborted";
}

void OpenDraft::Seal(std::optional<double> timeout) {
  const std::chrono::milliseconds wait = ToTimeout(timeout);
  Draft& open_draft = draft();
  state_ = State::kAborted;  // as it is if this fails
  WithoutGil([&] { return open_draft.Seal(wait); });
  state_ = State::kSealed;
}

void OpenDraft::Abort() {
  if (!open()) return;
  const Unlocked unlocked;
  draft_.Abort();
  state_ = State::kAborted;
}

Draft& OpenDraft::draft() {
  if (open()) return draft_;
  throw Raised{Error(ErrorCode::kInvalidArgument, state_ == State::kSealed
                                                      ? "the draft was sealed before"
                                                      : "the draft was aborted before")};
}

void BindMemory(nb::module_& module) {
  Shown<View>(module, "View", nb::type_slots(buffer_slots<View, false>),
              "An object's bytes in shared memory: read-only, pinned while this or a buffer "
              "over it lives, also when its client, node or cluster is gone.")
      .def_prop_ro("id", &View::id)
      .def_prop_ro("metadata",
                   [](const View& view) {
                     return nb::bytes(view.metadata().data(), view.metadata().size());
                   })
      .def("map_private", &View::MapPrivate)
      .def("__len__", [](const View& view) { return view.bytes().size(); });

  Class<PrivateView>(module, "PrivateView", nb::type_slots(buffer_slots<PrivateView, true>),
                     "An object's bytes as a writable buffer: a page that is written to is "
                     "copied for this process alone.")
      .def("__len__", [](const PrivateView& view) { return view.bytes().size(); });

  Class<OpenDraft>(module, "Draft", nb::type_slots(buffer_slots<OpenDraft, true>),
                   "Memory of the node's store that becomes an object: a writable buffer.")
      .def_prop_ro("id", &OpenDraft::id)
      .def_prop_ro("advanced", &OpenDraft::advanced)
      .def_prop_ro("state", &OpenDraft::state)
      .def("__len__", [](const OpenDraft& draft) { return draft.bytes().size(); })
      .def("advance", &OpenDraft::Advance, nb::arg("prefix_bytes"))
      .def("seal", &OpenDraft::Seal, nb::arg("timeout") = nb::none())
      .def("abort", &OpenDraft::Abort);
}

}  // namespace hoplite::python
