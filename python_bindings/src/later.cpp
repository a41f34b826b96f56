// Requests that nobody waits for yet, and what tells an event loop of their answers.
#include "later.h"

#include <cstdint>

#include <nanobind/stl/vector.h>

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
  nb::class_<Arrivals>(module, "Arrivals")
      .def(nb::init<>())
      .def_prop_ro("descriptor", &Arrivals::descriptor)
      .def("take", &Arrivals::Take);

  nb::class_<Future<Buffer>>(module, "GetLater")
      .def("wait",
           [](const Future<Buffer>& future) {
             return View(WithoutGil([&future] { return future.Wait(); }));
           })
      .def("ready", &Future<Buffer>::ready)
      .def("tell", [](const Future<Buffer>& future, const Arrivals& arrivals,
                      std::uint64_t number) { future.OnReady(arrivals.Teller(number)); })
      .def("cancel", &Future<Buffer>::Cancel);

  nb::class_<Future<void>>(module, "DoneLater")
      .def("wait",
           [](const Future<void>& future) { WithoutGil([&future] { return future.Wait(); }); })
      .def("ready", &Future<void>::ready)
      .def("tell", [](const Future<void>& future, const Arrivals& arrivals,
                      std::uint64_t number) { future.OnReady(arrivals.Teller(number)); })
      .def("cancel", &Future<void>::Cancel);

  nb::class_<PutLater>(module, "PutLater")
      .def("wait", &PutLater::Wait)
      .def("ready", &PutLater::ready)
      .def("tell", [](const PutLater& put, const Arrivals& arrivals,
                      std::uint64_t number) { put.OnReady(arrivals.Teller(number)); })
      .def("cancel", &PutLater::Cancel);

  nb::class_<Ending>(module, "Ending").def("wait", &Ending::Wait);
}

}  // namespace hoplite::python
