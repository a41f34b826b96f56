// Requests that nobody waits for yet, and what tells an event loop of their answers.
#include "later.h"

#include <nanobind/stl/vector.h>

#include "answers.h"
#include "arrivals.h"
#include "bind.h"
#include "client/interruption.h"
#include "errors.h"
#include "gil.h"
#include "memory.h"

namespace hoplite::python {

namespace nb = nanobind;

PutLater::~PutLater() {
  // It may wait for what is being copied just now.
  const Unlocked unlocked;
  future_.reset();
}

ObjectId PutLater::Wait() {
  const ObjectId id = WithoutGil([this] { return future_->Wait(); });
  pieces_.reset();  // nobody reads them any more
  return id;
}

void PutLater::OnReady(std::function<void()> function) const {
  future_->OnReady(std::move(function));
}

void PutLater::Cancel() {
  const Unlocked unlocked;
  future_->Cancel();
}

Ending::~Ending() {
  // It may be the last that has the connection.
  const Unlocked unlocked;
  question_.reset();
}

void Ending::Wait() const {
  WithoutGil([this]() -> Result<void> {
    const client::Question::Answer* why = question_->Wait(kNever);
    return std::unexpected(why == nullptr ? client::Interruption::Reason() : why->error());
  });
}

void BindLater(nb::module_& module) {
  Class<Arrivals>(module, "Arrivals")
      .def(nb::init<>())
      .def_prop_ro("descriptor", &Arrivals::descriptor)
      .def("take", &Arrivals::Take);
  BindRequest<Future<Buffer>>(module, "GetLater").def("wait", [](const Future<Buffer>& future) {
    return View(WithoutGil([&future] { return future.Wait(); }));
  });
  BindAnswer<void>(module, "DoneLater");
  BindRequest<PutLater>(module, "PutLater").def("wait", &PutLater::Wait);
  Class<Ending>(module, "Ending").def("wait", &Ending::Wait);
}

}  // namespace hoplite::python
