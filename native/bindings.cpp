// The Python module `_engine`; only planning/engines/native_planner.py uses it.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>

#include "grounding.hpp"
#include "portfolio.hpp"

namespace py = pybind11;
using namespace needful;

namespace {

// (predicate, arguments).
using AtomTuple = std::pair<Id, std::vector<Id>>;

// (parameter types, preconditions, negative preconditions, adds, deletes, delete patterns).
using OperatorTuple = std::tuple<std::vector<Id>, std::vector<AtomTuple>, std::vector<AtomTuple>,
                                 std::vector<AtomTuple>, std::vector<AtomTuple>, std::vector<AtomTuple>>;

std::vector<LiftedAtom> lifted_atoms(const std::vector<AtomTuple>& atoms) {
    std::vector<LiftedAtom> result;
    for (const auto& [predicate, parameters] : atoms) result.push_back({predicate, parameters});
    return result;
}

LiftedOperator lifted_operator(const OperatorTuple& tuple) {
    const auto& [types, preconditions, negative_preconditions, adds, deletes, patterns] = tuple;
    LiftedOperator result{types,
                          lifted_atoms(preconditions),
                          lifted_atoms(negative_preconditions),
                          lifted_atoms(adds),
                          lifted_atoms(deletes),
                          {}};
    for (const auto& [predicate, arguments] : patterns) result.delete_patterns.push_back({predicate, arguments});
    return result;
}

// Runs pending Python signal handlers, so that Ctrl-C does not wait for the deadline.
bool interrupted() {
    py::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() != 0;
}

// Rethrows the exception of a Python signal handler.
void raise_if_interrupted() {
    if (PyErr_Occurred()) throw py::error_already_set();
}

std::shared_ptr<Problem> ground_task(std::vector<Id> predicate_arities, std::vector<Id> object_types,
                                     std::vector<std::vector<Id>> type_members,
                                     const std::vector<OperatorTuple>& operators, std::vector<Id> initial,
                                     std::vector<Id> goal, double seconds,
                                     std::int64_t max_operators, bool cpu_time) {
    DeadlinePoller deadline(seconds, interrupted, cpu_time);
    AbstractTask task;
    task.predicate_arities = std::move(predicate_arities);
    task.object_types = std::move(object_types);
    task.type_members = std::move(type_members);
    for (const OperatorTuple& tuple : operators) task.operators.push_back(lifted_operator(tuple));
    task.initial = std::move(initial);
    task.goal = std::move(goal);
    std::shared_ptr<Problem> problem;
    {
        py::gil_scoped_release release;
        problem = std::const_pointer_cast<Problem>(ground(task, deadline, max_operators));
    }
    raise_if_interrupted();
    return problem;
}

std::pair<Id, std::vector<Id>> ground_operator(const Problem& problem, std::size_t index) {
    if (index >= problem.operator_count())
        throw py::index_error("ground operator " + std::to_string(index) + " is out of range: there are " +
                              std::to_string(problem.operator_count()));
    const Span objects = problem.operator_objects[index];
    return {problem.lifted_operators[index], {objects.begin(), objects.end()}};
}

// The value of the Python enum `Outcome`, or null for None.
const char* outcome(SearchStatus status) {
    switch (status) {
        case SearchStatus::exhausted: return "no_abstract_plan";
        case SearchStatus::timeout: return "timeout";
        case SearchStatus::out_of_nodes: return "out_of_nodes";
        case SearchStatus::in_progress: break;
    }
    return nullptr;
}

// Nodes (created, expanded, evaluated).
using Counters = std::array<std::int64_t, 3>;

// (greedy, weight, symmetries, max_work).
using StageTuple = std::tuple<bool, Id, bool, std::int64_t>;

std::vector<Stage> make_stages(const std::vector<StageTuple>& tuples) {
    std::vector<Stage> stages;
    for (const auto& [greedy, weight, symmetries, max_work] : tuples)
        stages.push_back({greedy, weight, symmetries, max_work});
    return stages;
}

// A running search. Several searches can share a budget, so each call takes the counters of all searches so far.
class Search {
public:
    Search(ProblemPointer problem, std::vector<Failure> failures, std::vector<Id> lifted_costs,
           std::vector<std::pair<Id, Id>> surcharges, const std::vector<Plan>& tried,
           const std::vector<StageTuple>& stages, bool distinct, std::uint64_t seed, const Counters& counters,
           double seconds, bool cpu_time)
        : cpu_time_(cpu_time) {
        const Discoveries discoveries{std::move(failures), std::move(lifted_costs), std::move(surcharges)};
        DeadlinePoller deadline(seconds, interrupted, cpu_time_);
        set_counters(counters);
        run_until_deadline([&] {
            plans_ = start_portfolio(with_discoveries(std::move(problem), discoveries, deadline), make_stages(stages),
                                     distinct, tried, seed, deadline, statistics_);
        });
    }

    std::optional<Plan> next(const Counters& counters, double seconds, std::int64_t max_nodes) {
        DeadlinePoller deadline(seconds, interrupted, cpu_time_);
        const Budget budget{deadline, max_nodes < 0 ? unlimited_nodes : max_nodes};
        set_counters(counters);
        Plan plan;
        bool found = false;
        run_until_deadline([&] { found = plans_ && plans_->next(budget, statistics_, plan); });
        return found ? std::optional<Plan>(std::move(plan)) : std::nullopt;
    }

    const char* ended() const { return outcome(plans_ ? plans_->status() : SearchStatus::timeout); }

    Counters counters() const {
        return {statistics_.nodes_created, statistics_.nodes_expanded, statistics_.nodes_evaluated};
    }

private:
    void set_counters(const Counters& counters) { statistics_ = {counters[0], counters[1], counters[2]}; }

    template <class Function>
    void run_until_deadline(Function function) {
        {
            py::gil_scoped_release release;
            try {
                function();
            } catch (const DeadlineExpired&) {
                plans_.reset();
            }
        }
        raise_if_interrupted();
    }

    bool cpu_time_;
    SearchStatistics statistics_;
    // Null after the deadline expired while a stage was being prepared.
    std::unique_ptr<PlanStream> plans_;
};

}  // namespace

PYBIND11_MODULE(_engine, module) {
    module.doc() = "Grounding and search for abstract plans.";
    py::class_<Problem, std::shared_ptr<Problem>>(module, "Problem")
        .def_readonly("goal_reachable", &Problem::goal_reachable)
        .def_property_readonly("operator_count", &Problem::operator_count)
        .def("ground_operator", &ground_operator);
    module.def("ground", &ground_task, py::arg("arities"), py::arg("object_types"), py::arg("type_members"),
               py::arg("operators"), py::arg("initial"), py::arg("goal"), py::arg("seconds"),
               py::arg("max_operators"), py::arg("cpu_time") = false);
    py::class_<Search>(module, "Search")
        .def(py::init<std::shared_ptr<Problem>, std::vector<Failure>, std::vector<Id>, std::vector<std::pair<Id, Id>>,
                      const std::vector<Plan>&, const std::vector<StageTuple>&, bool, std::uint64_t, const Counters&,
                      double, bool>(),
             py::arg("problem"), py::arg("failures"), py::arg("lifted_costs"), py::arg("surcharges"),
             py::arg("tried"), py::arg("stages"), py::arg("distinct"), py::arg("seed"), py::arg("spent"),
             py::arg("seconds"), py::arg("cpu_time") = false)
        .def("next", &Search::next)
        .def_property_readonly("spent", &Search::counters)
        .def_property_readonly("ended", &Search::ended);
}
