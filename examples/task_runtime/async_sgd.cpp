// Asynchronous SGD on the task runtime: five workers compute gradients; the driver sums the first
// two that are there, and lets two more be computed from the weights that this gives. The other
// three count in later steps.
//
// It trains three times: with the gradients that happen to be first; with those that it wants; and
// so again while workers are killed, which must give the same weights, bit by bit.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <type_traits>

#include "task_runtime/runtime.h"

namespace {

using namespace std::chrono_literals;
using tasks::Future;

constexpr std::size_t kWorkers = 5;
// The sum of two floats is the same whichever comes first; of three, the last bits are not.
constexpr std::size_t kFirst = (kWorkers - 1) / 2;
constexpr int kSteps = 40;
constexpr std::size_t kWeights = 32768;  // 128 KiB: the directory does not keep so large objects
constexpr float kRate = 2.0F / kWeights;
constexpr unsigned kHeldOut = 1'000'000;  // a batch that nobody learns from
constexpr auto kPatience = 30s;

template <typename T>
T Must(hoplite::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().ToString().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// What is learned: sin(2 a) + b of points (a, b), as a weighted sum of what random neurons say.
struct Lesson {
  double loss = 0;  // half of the mean square error
  std::vector<float> gradient = std::vector<float>(kWeights);
};

constexpr int kPoints = 32;

// Between -1 and 1.
float Uniform(std::mt19937& random) { return static_cast<float>(random()) * 0x1p-31F - 1; }

std::vector<std::array<float, 3>> Layer() {
  std::mt19937 random(0);
  std::vector<std::array<float, 3>> neurons(kWeights);
  for (auto& neuron : neurons) {
    for (float& number : neuron) number = Uniform(random);
  }
  return neurons;
}

Lesson Learn(std::span<const float> weights, unsigned batch) {
  static const std::vector<std::array<float, 3>> neurons = Layer();
  std::mt19937 points(batch);
  std::vector<float> outputs(kWeights);
  Lesson lesson;
  for (int point = 0; point < kPoints; ++point) {
    const float a = Uniform(points);
    const float b = Uniform(points);
    float error = -std::sin(2 * a) - b;
    for (std::size_t i = 0; i < kWeights; ++i) {
      outputs[i] = std::max(0.0F, neurons[i][0] * a + neurons[i][1] * b + neurons[i][2]);
      error += weights[i] * outputs[i];
    }
    lesson.loss += error * error / 2 / kPoints;
    for (std::size_t i = 0; i < kWeights; ++i) {
      lesson.gradient[i] += error * outputs[i] / kPoints;
    }
  }
  return lesson;
}

std::span<const float> Floats(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

// The task: from weights and the number of a batch.
hoplite::Result<void> Gradient(tasks::Call& call) {
  const auto batch = static_cast<unsigned>(std::stoul(call.text()));
  const Lesson lesson = Learn(Floats(call.argument(0)), batch);
  return call.Return(std::as_bytes(std::span(lesson.gradient)));
}

class Training {
 public:
  // `forced`: the first gradients shall be those that were named first; so the others are named
  // only, until it is their turn.
  Training(tasks::Runtime& runtime, bool forced) : runtime_(runtime), forced_(forced) { AddJobs(); }

  // `kill`: the worker that made the first gradient, when nobody else has it.
  void Step(bool kill) {
    for (std::size_t i = 0; forced_ && i < kFirst; ++i) Start(jobs_[i]);
    hoplite::Client client = runtime_.client();
    if (kill) {
      Must(client.WaitExists({{jobs_.front().gradient->id}}, 1, {.timeout = kPatience}));
      runtime_.KillWorkerOf(jobs_.front().gradient);
    }
    std::vector<hoplite::ObjectId> gradients;
    for (const Job& job : jobs_) gradients.push_back(job.gradient->id);
    const Future total = runtime_.Name();
    const auto sum = Must(client.Reduce({.sources = gradients,
                                         .dtype = hoplite::DType::kFloat32,
                                         .num_objects = kFirst,
                                         .target = total->id,
                                         .root_here = true}));
    const auto summed = Must(runtime_.Get(total, kPatience));
    for (std::size_t i = 0; i < kWeights; ++i) {
      weights_[i] -= kRate / kFirst * Floats(summed.bytes())[i];
    }
    const auto used = Must(sum.Wait(kPatience)).used;
    std::erase_if(jobs_, [&used](const Job& job) {
      return std::ranges::find(used, job.gradient->id) != used.end();
    });
    AddJobs();
  }

  const std::vector<float>& weights() const { return weights_; }

 private:
  struct Job {
    Future gradient;
    Future weights;
    unsigned batch;
  };

  void AddJobs() {
    const Future weights = runtime_.Name();
    Must(runtime_.Put(weights, std::as_bytes(std::span(weights_))));
    while (jobs_.size() < kWorkers) {
      jobs_.push_back({runtime_.Name(), weights, next_batch_++});
      if (!forced_) Start(jobs_.back());
    }
  }
  void Start(const Job& job) {
    runtime_.Submit(job.gradient, {"gradient", std::to_string(job.batch)}, {job.weights});
  }

  tasks::Runtime& runtime_;
  const bool forced_;
  std::vector<float> weights_ = std::vector<float>(kWeights);
  std::vector<Job> jobs_;
  unsigned next_batch_ = 0;
};

// The weights at the end.
std::vector<float> Train(tasks::Runtime& runtime, bool forced, bool kill) {
  using Clock = std::chrono::steady_clock;
  Training training(runtime, forced);
  std::vector<double> seconds;
  for (int step = 1; step <= kSteps; ++step) {
    const auto start = Clock::now();
    training.Step(kill && step % 16 == 0);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::ranges::sort(seconds);
  std::printf("%s%s: loss %.3f, a step takes %.0f ms, the slowest %.0f ms\n",
              forced ? "the first named" : "the first to come", kill ? ", two workers killed" : "",
              Learn(training.weights(), kHeldOut).loss, seconds[seconds.size() / 2] * 1e3,
              seconds.back() * 1e3);
  return training.weights();
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = tasks::RunIfWorker(argc, argv, {{"gradient", Gradient}})) return *status;
  const auto runtime = Must(tasks::Runtime::Start(kWorkers));
  const double before = Learn(std::vector<float>(kWeights), kHeldOut).loss;
  std::printf("nothing learned: loss %.3f\n", before);
  const std::vector<float> free = Train(*runtime, false, true);
  const std::vector<float> forced = Train(*runtime, true, false);
  const std::vector<float> again = Train(*runtime, true, true);
  const bool learned =
      Learn(free, kHeldOut).loss < before / 5 && Learn(forced, kHeldOut).loss < before / 5;
  std::puts(!learned ? "NOT LEARNED" : forced != again ? "DIFFERENT" : "learned; equal weights");
  return learned && forced == again ? 0 : 1;
}
