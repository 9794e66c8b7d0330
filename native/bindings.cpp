// The Python module `_engine`; only planning/engines/native_planner.py uses it.
#include "python_values.hpp"

#include <exception>
#include <new>
#include <optional>
#include <stdexcept>

#include "grounding.hpp"
#include "portfolio.hpp"

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
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool result = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return result;
}

// Releases Python's global interpreter lock while this object exists, so that other Python threads can run.
class OtherThreadsMayRun {
public:
    OtherThreadsMayRun() : thread_(PyEval_SaveThread()) {}
    ~OtherThreadsMayRun() { PyEval_RestoreThread(thread_); }
    OtherThreadsMayRun(const OtherThreadsMayRun&) = delete;
    OtherThreadsMayRun& operator=(const OtherThreadsMayRun&) = delete;

private:
    PyThreadState* thread_;
};

// Rethrows the exception of a Python signal handler.
void raise_if_interrupted() {
    if (PyErr_Occurred()) throw PythonError();
}

// Returns the value of the Python enum `Outcome`, or null (None in Python) while the search is in progress.
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

// Sets a flag to true; the destructor resets it.
class Running {
public:
    explicit Running(bool& flag) : flag_(flag) { flag_ = true; }
    ~Running() { flag_ = false; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

private:
    bool& flag_;
};

// A search that Python code controls. Several searches can share one budget, so each call is given the counters summed
// over all these searches.
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
        if (running_) throw std::logic_error("this search is running already, in another thread or a signal handler");
        DeadlinePoller deadline(seconds, interrupted, cpu_time_);
        const Budget budget{deadline, max_nodes < 0 ? unlimited_nodes : max_nodes};
        set_counters(counters);
        Plan plan;
        bool found = false;
        run_until_deadline([&] { found = plans_ && plans_->next(budget, statistics_, plan); });
        return found ? std::optional<Plan>(std::move(plan)) : std::nullopt;
    }

    const char* ended() const {
        if (running_) return nullptr;
        return outcome(plans_ ? plans_->status() : SearchStatus::timeout);
    }

    Counters counters() const {
        return {statistics_.nodes_created, statistics_.nodes_expanded, statistics_.nodes_evaluated};
    }

private:
    void set_counters(const Counters& counters) { statistics_ = {counters[0], counters[1], counters[2]}; }

    template <class Function>
    void run_until_deadline(Function function) {
        {
            const Running running(running_);
            const OtherThreadsMayRun release;
            try {
                function();
            } catch (const DeadlineExpired&) {
                plans_.reset();
            }
        }
        raise_if_interrupted();
    }

    bool cpu_time_;
    bool running_ = false;
    SearchStatistics statistics_;
    // Null if the deadline expired while a stage of the portfolio was being prepared.
    std::unique_ptr<PlanStream> plans_;
};

// Python code keeps C++ values of two kinds as opaque objects (capsules). These are the names of the capsules.
constexpr const char* problem_name = "needful.Problem";
constexpr const char* search_name = "needful.Search";

const ProblemPointer& problem_of(PyObject* object) { return stored<ProblemPointer>(object, problem_name); }

Search& search_of(PyObject* object) { return stored<Search>(object, search_name); }

PyObject* none() { return Py_NewRef(Py_None); }

PyObject* ground_task(PyObject* arguments) {
    auto [arities, object_types, type_members, operators, initial, goal, seconds, max_operators, cpu_time] =
        read<std::tuple<std::vector<Id>, std::vector<Id>, std::vector<std::vector<Id>>, std::vector<OperatorTuple>,
                        std::vector<Id>, std::vector<Id>, double, std::int64_t, bool>>(arguments);
    DeadlinePoller deadline(seconds, interrupted, cpu_time);
    AbstractTask task;
    task.predicate_arities = std::move(arities);
    task.object_types = std::move(object_types);
    task.type_members = std::move(type_members);
    for (const OperatorTuple& tuple : operators) task.operators.push_back(lifted_operator(tuple));
    task.initial = std::move(initial);
    task.goal = std::move(goal);
    ProblemPointer problem;
    {
        const OtherThreadsMayRun release;
        problem = ground(task, deadline, max_operators);
    }
    raise_if_interrupted();
    return problem ? store(std::make_unique<ProblemPointer>(std::move(problem)), problem_name) : none();
}

PyObject* goal_reachable(PyObject* arguments) {
    const auto [problem] = read<std::tuple<PyObject*>>(arguments);
    return PyBool_FromLong(problem_of(problem)->goal_reachable);
}

PyObject* operator_count(PyObject* arguments) {
    const auto [problem] = read<std::tuple<PyObject*>>(arguments);
    return PyLong_FromSize_t(problem_of(problem)->operator_count());
}

PyObject* ground_operator(PyObject* arguments) {
    const auto [object, index] = read<std::tuple<PyObject*, std::int64_t>>(arguments);
    const Problem& problem = *problem_of(object);
    if (index < 0 || static_cast<std::size_t>(index) >= problem.operator_count()) {
        PyErr_Format(PyExc_IndexError, "ground operator %lld is out of range: there are %zu",
                     static_cast<long long>(index), problem.operator_count());
        throw PythonError();
    }
    const auto position = static_cast<std::size_t>(index);
    const Owned objects = number_list(problem.operator_objects[position]);
    const Owned lifted = owned(PyLong_FromLong(problem.lifted_operators[position]));
    return PyTuple_Pack(2, lifted.get(), objects.get());
}

PyObject* start_search(PyObject* arguments) {
    auto [problem, failures, lifted_costs, surcharges, tried, stages, distinct, seed, spent, seconds, cpu_time] =
        read<std::tuple<PyObject*, std::vector<Failure>, std::vector<Id>, std::vector<std::pair<Id, Id>>,
                        std::vector<Plan>, std::vector<StageTuple>, bool, std::uint64_t, Counters, double, bool>>(
            arguments);
    return store(std::make_unique<Search>(problem_of(problem), std::move(failures), std::move(lifted_costs),
                                          std::move(surcharges), tried, stages, distinct, seed, spent, seconds,
                                          cpu_time),
                 search_name);
}

PyObject* next_plan(PyObject* arguments) {
    const auto [search, spent, seconds, max_nodes] =
        read<std::tuple<PyObject*, Counters, double, std::int64_t>>(arguments);
    const std::optional<Plan> plan = search_of(search).next(spent, seconds, max_nodes);
    return plan ? number_list(*plan).release() : none();
}

PyObject* spent(PyObject* arguments) {
    const auto [search] = read<std::tuple<PyObject*>>(arguments);
    return number_list(search_of(search).counters()).release();
}

PyObject* ended(PyObject* arguments) {
    const auto [search] = read<std::tuple<PyObject*>>(arguments);
    const char* const reason = search_of(search).ended();
    return reason ? PyUnicode_FromString(reason) : none();
}

// Calls a function, and turns C++ exceptions into Python exceptions.
template <PyObject* (*function)(PyObject*)>
PyObject* call(PyObject*, PyObject* arguments) {
    try {
        return function(arguments);
    } catch (const PythonError&) {
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return nullptr;
}

// The method table and the module definition. Python keeps pointers to both, so they must exist until the end.
PyMethodDef functions[] = {
    {"ground", call<ground_task>, METH_VARARGS, nullptr},
    {"goal_reachable", call<goal_reachable>, METH_VARARGS, nullptr},
    {"operator_count", call<operator_count>, METH_VARARGS, nullptr},
    {"ground_operator", call<ground_operator>, METH_VARARGS, nullptr},
    {"start_search", call<start_search>, METH_VARARGS, nullptr},
    {"next_plan", call<next_plan>, METH_VARARGS, nullptr},
    {"spent", call<spent>, METH_VARARGS, nullptr},
    {"ended", call<ended>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_engine", "Grounding and search for abstract plans.", 0,
                          functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__engine() { return PyModuleDef_Init(&definition); }
