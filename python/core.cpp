// railyard._core: scenarios and sweeps in, results as the JSON of `railyard run --format json` out.
// What Python makes of them stands in railyard/__init__.py.
#include <fmt/format.h>
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "railyard/bridge/catalogs.hpp"
#include "railyard/bridge/partner.hpp"
#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "railyard/report/report.hpp"
#include "railyard/scenario/scenario.hpp"
#include "railyard/sweep/execute.hpp"
#include "railyard/sweep/sweep.hpp"

namespace py = pybind11;

namespace railyard::python {
namespace {

/// Pointer and JSON text, as --set has them.
using Changes = sweep::Changes;

/// What makes a scheduler, by the name under which scenarios know it. Guarded by the interpreter's
/// lock, and never destroyed: the interpreter may be gone before it.
std::map<std::string, py::object>& schedulers() {
  static auto* const known = new std::map<std::string, py::object>();
  return *known;
}

/// Python's complaint as one line: its traceback goes to stderr.
[[noreturn]] void fail(py::error_already_set& error) {
  const std::string what = py::str(error.value());
  const std::string kind = py::str(error.type().attr("__name__"));
  error.restore();
  PyErr_Print();
  throw scheduler::SchedulerError(fmt::format("{}: {}", kind, what));
}

/// An object of a Python class that answers lines.
class PythonPartner final : public bridge::Partner {
 public:
  explicit PythonPartner(const std::string& name) {
    const py::gil_scoped_acquire lock;
    const auto known = schedulers().find(name);
    if (known == schedulers().end()) {
      throw scheduler::SchedulerError(
          "no such class: give it to railyard.register_scheduler first");
    }
    try {
      object_ = known->second();
    } catch (py::error_already_set& error) {
      fail(error);
    }
  }
  PythonPartner(const PythonPartner&) = delete;
  PythonPartner& operator=(const PythonPartner&) = delete;
  ~PythonPartner() override {
    const py::gil_scoped_acquire lock;
    object_ = py::object();
  }

  void send(std::string_view line) override {
    const py::gil_scoped_acquire lock;
    try {
      answer_ = py::cast<std::string>(object_.attr("_answer")(std::string(line)));
    } catch (py::error_already_set& error) {
      fail(error);
    } catch (const py::cast_error&) {
      throw scheduler::SchedulerError(
          "its _answer returns no text: derive from railyard.Scheduler");
    }
  }
  std::string receive() override { return std::move(answer_); }

 private:
  py::object object_;
  std::string answer_;
};

std::unique_ptr<scheduler::Scheduler> create_python(const config::Parameters& parameters,
                                                    const scheduler::Parts& parts,
                                                    const scheduler::Catalogs& catalogs) {
  const auto name = parameters.get<std::string>("class");
  return bridge::scheduler_of([name] { return std::make_unique<PythonPartner>(name); }, name,
                              parts.placement, catalogs);
}

scenario::Catalogs catalogs_with_python() {
  const config::CatalogEntry<scheduler::SchedulerFactory> python{
      {.name = "python",
       .summary = "a Python class decides: one that railyard.register_scheduler was given",
       .parameters = {{.name = "class",
                       .type = config::ParameterType::string,
                       .help = "the name under which it was registered"}}},
      &create_python};
  return bridge::make_catalogs({}, std::span(&python, 1));
}

config::Document read(const std::filesystem::path& path, const Changes& changes) {
  return config::Document::parse_file(path).set(changes);
}

/// Simulated seconds, jobs that are done, jobs, policy set; of a sweep also the point.
using Tell = std::function<void(std::size_t, const std::string&, double, std::size_t, std::size_t)>;

/// Passes progress on to Python, now and then, and Python's wish to stop (Ctrl-C, an exception of
/// the callback) back.
class PythonWatcher final : public sweep::Watcher {
 public:
  PythonWatcher(std::span<const scenario::Spec> specs, Tell tell)
      : specs_(specs), tell_(std::move(tell)), caller_(std::this_thread::get_id()) {}

  void update(const sweep::Run& run, double simulated_s, std::size_t done, std::size_t jobs,
              std::uint64_t /*events*/) override {
    const auto now = std::chrono::steady_clock::now();
    if (!tell_ || error_ || now - told_ < kPause) return;
    told_ = now;
    const py::gil_scoped_acquire lock;
    try {
      tell_(run.spec, specs_[run.spec].policy_names()[run.policy], simulated_s, done, jobs);
    } catch (py::error_already_set&) {
      error_ = std::current_exception();
    }
  }

  bool stop() override {
    if (error_) return true;
    const auto now = std::chrono::steady_clock::now();
    // Python handles signals on its main thread alone.
    if (std::this_thread::get_id() != caller_ || now - asked_ < kPause) return false;
    asked_ = now;
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() == 0) return false;
    error_ = std::make_exception_ptr(py::error_already_set());
    return true;
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  static constexpr std::chrono::milliseconds kPause{100};
  std::span<const scenario::Spec> specs_;
  Tell tell_;
  std::thread::id caller_;
  std::chrono::steady_clock::time_point told_{};
  std::chrono::steady_clock::time_point asked_{};
  std::exception_ptr error_;
};

unsigned thread_count(unsigned jobs) {
  return jobs > 0 ? jobs : std::max(1U, std::thread::hardware_concurrency());
}

std::vector<sweep::Executed> execute(std::span<const scenario::Spec> specs, unsigned jobs,
                                     const Tell& tell) {
  PythonWatcher watcher(specs, tell);
  std::vector<sweep::Executed> executed;
  {
    const py::gil_scoped_release unlocked;
    executed = sweep::execute(specs, thread_count(jobs), &watcher);
  }
  watcher.rethrow();
  return executed;
}

class Scenario {
 public:
  Scenario(const std::filesystem::path& path, const Changes& changes,
           std::optional<std::uint64_t> seed)
      : spec_(scenario::load(read(path, changes), path.stem().string(), seed,
                             catalogs_with_python())) {}

  [[nodiscard]] const scenario::Spec& spec() const { return spec_; }
  [[nodiscard]] std::string baseline() const { return spec_.policy_names()[spec_.baseline()]; }
  [[nodiscard]] metrics::RunResult run(unsigned jobs, const Tell& tell) const {
    const auto executed = execute(std::span(&spec_, 1), jobs, tell);
    return scenario::assemble(spec_, executed.front().finished());
  }

 private:
  scenario::Spec spec_;
};

class Sweep {
 public:
  Sweep(const std::filesystem::path& path, const Changes& changes,
        std::optional<std::uint64_t> seed)
      : sweep_(sweep::load(config::Document::parse_file(path), path.stem().string(), changes, seed,
                           catalogs_with_python())) {}

  [[nodiscard]] const sweep::Sweep& sweep() const { return sweep_; }
  [[nodiscard]] std::vector<metrics::RunResult> run(unsigned jobs, const Tell& tell) const {
    const auto executed = execute(sweep_.specs, jobs, tell);
    std::vector<metrics::RunResult> out;
    for (std::size_t i = 0; i < executed.size(); ++i) {
      out.push_back(scenario::assemble(sweep_.specs[i], executed[i].finished()));
    }
    return out;
  }

 private:
  sweep::Sweep sweep_;
};

}  // namespace
}  // namespace railyard::python

PYBIND11_MODULE(_core, module) {
  using namespace railyard;
  using namespace railyard::python;

  module.attr("__version__") = std::string(metrics::version());
  static py::exception<config::ConfigError> config_error(module, "ConfigError", PyExc_ValueError);
  static py::exception<InternalError> internal_error(module, "InternalError", PyExc_RuntimeError);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const config::ConfigError& error) {
      config_error(error.what());
    } catch (const InternalError& error) {
      internal_error(error.what());
    } catch (const IoError& error) {
      PyErr_SetString(PyExc_OSError, error.what());
    }
  });

  py::class_<metrics::RunResult>(module, "Result")
      .def_property_readonly("json", &report::result_json)
      .def_property_readonly("table", &report::result_table);
  py::class_<Scenario>(module, "Scenario")
      .def(py::init<const std::string&, const Changes&, std::optional<std::uint64_t>>())
      .def_property_readonly("name", [](const Scenario& self) { return self.spec().name(); })
      .def_property_readonly("seed", [](const Scenario& self) { return self.spec().seed(); })
      .def_property_readonly("policies",
                             [](const Scenario& self) { return self.spec().policy_names(); })
      .def_property_readonly("baseline", &Scenario::baseline)
      .def_property_readonly("summary", [](const Scenario& self) { return self.spec().summary(); })
      .def("run", &Scenario::run);
  py::class_<sweep::Point>(module, "Point")
      .def_readonly("values", &sweep::Point::values)
      .def_readonly("seed", &sweep::Point::seed);
  py::class_<Sweep>(module, "Sweep")
      .def(py::init<const std::string&, const Changes&, std::optional<std::uint64_t>>())
      .def_property_readonly("name", [](const Sweep& self) { return self.sweep().name; })
      .def_property_readonly("axes", [](const Sweep& self) { return self.sweep().axes; })
      .def_property_readonly("points", [](const Sweep& self) { return self.sweep().points; })
      .def("run", &Sweep::run);
  module.def("register_scheduler",
             [](const std::string& name, const py::object& make) { schedulers()[name] = make; });
}
