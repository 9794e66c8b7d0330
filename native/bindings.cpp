// The engine as a Python module; native_planner.py is its only user.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>

#include "grounding.hpp"
#include "policy.hpp"

namespace py = pybind11;
using namespace needful;

namespace {

using Atom = std::pair<Id, std::vector<Id>>;

std::vector<PlacedAtom> placed(const std::vector<Atom>& atoms) {
    std::vector<PlacedAtom> result;
    for (const auto& [predicate, places] : atoms) result.push_back({predicate, places});
    return result;
}

// Parameter types, preconditions, adds, deletes and delete patterns.
using OperatorTuple =
    std::tuple<std::vector<Id>, std::vector<Atom>, std::vector<Atom>, std::vector<Atom>, std::vector<Atom>>;

LiftedOperator lifted(const OperatorTuple& given) {
    const auto& [types, preconditions, adds, deletes, patterns] = given;
    LiftedOperator result{types, placed(preconditions), placed(adds), placed(deletes), {}};
    for (const auto& [predicate, arguments] : patterns) result.patterns.push_back({predicate, arguments});
    return result;
}

// Without this, Ctrl-C would have to wait for the deadline.
bool interrupted() {
    py::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() != 0;
}

// What a signal handler has raised.
void raise_if_interrupted() {
    if (PyErr_Occurred()) throw py::error_already_set();
}

std::shared_ptr<Problem> ground_question(std::vector<Id> predicate_arities, std::vector<Id> object_types,
                               std::vector<std::vector<Id>> type_members,
                               const std::vector<OperatorTuple>& operators, std::vector<Id> initial,
                               std::vector<Id> goal, bool allow_noops, double seconds, std::int64_t most) {
    DeadlinePoller deadline(seconds, interrupted);
    Question question;
    question.predicate_arities = std::move(predicate_arities);
    question.object_types = std::move(object_types);
    question.type_members = std::move(type_members);
    for (const OperatorTuple& one : operators) question.operators.push_back(lifted(one));
    question.initial = std::move(initial);
    question.goal = std::move(goal);
    question.allow_noops = allow_noops;
    std::shared_ptr<Problem> problem;
    {
        py::gil_scoped_release release;
        problem = std::const_pointer_cast<Problem>(ground(question, deadline, most));
    }
    raise_if_interrupted();
    return problem;
}

std::pair<Id, std::vector<Id>> ground_operator(const Problem& problem, std::size_t index) {
    if (index >= problem.operator_count()) throw py::index_error("no ground operator has this index");
    const Span objects = problem.objects[index];
    return {problem.lifted[index], {objects.begin(), objects.end()}};
}

const char* name_of(Ended ended) {
    switch (ended) {
        case Ended::no_plan: return "no_abstract_plan";
        case Ended::timeout: return "timeout";
        case Ended::out_of_nodes: return "out_of_nodes";
        case Ended::not_yet: break;
    }
    return nullptr;
}

// Nodes created, expanded and evaluated.
using Counters = std::array<std::int64_t, 3>;

// (ground operator, object).
using Failures = std::vector<std::pair<Id, Id>>;

// A search under way. Others may share its budget, so it is told what was spent in all.
class Search {
public:
    Search(ProblemPointer problem, const Failures& failures, std::vector<Stage> stages, bool distinct,
           std::uint64_t seed, const Counters& spent, double seconds) {
        DeadlinePoller deadline(seconds, interrupted);
        set(spent);
        until_time_is_up([&] {
            plans_ = start_search(with_failures(std::move(problem), failures, deadline), std::move(stages), distinct,
                                  seed, deadline, effort_);
        });
    }

    std::optional<Plan> next(const Counters& spent, double seconds, std::int64_t max_nodes) {
        DeadlinePoller deadline(seconds, interrupted);
        const Budget budget{deadline, max_nodes < 0 ? unlimited_nodes : max_nodes};
        set(spent);
        Plan plan;
        bool found = false;
        until_time_is_up([&] { found = plans_ && plans_->next(budget, effort_, plan); });
        return found ? std::optional<Plan>(std::move(plan)) : std::nullopt;
    }

    const char* ended() const { return name_of(plans_ ? plans_->ended() : Ended::timeout); }
    Counters spent() const { return {effort_.created, effort_.expanded, effort_.evaluated}; }

private:
    void set(const Counters& spent) { effort_ = {spent[0], spent[1], spent[2]}; }

    template <class Work>
    void until_time_is_up(Work work) {
        {
            py::gil_scoped_release release;
            try {
                work();
            } catch (const DeadlineExpired&) {
                plans_.reset();
            }
        }
        raise_if_interrupted();
    }

    Effort effort_;
    // Nothing if time was up in the middle of something.
    std::unique_ptr<PlanStream> plans_;
};

}  // namespace

PYBIND11_MODULE(_engine, module) {
    module.doc() = "Grounding and search for abstract plans.";
    py::class_<Problem, std::shared_ptr<Problem>>(module, "Problem")
        .def_readonly("goal_reachable", &Problem::goal_reachable)
        .def_property_readonly("operator_count", &Problem::operator_count)
        .def("ground_operator", &ground_operator);
    module.def("ground", &ground_question);
    py::class_<Search>(module, "Search")
        .def(py::init([](std::shared_ptr<Problem> problem, const Failures& failures,
                         const std::vector<std::tuple<bool, Id, bool, std::int64_t>>& stages, bool distinct,
                         std::uint64_t seed, const Counters& spent, double seconds) {
            std::vector<Stage> parts;
            for (const auto& [greedy, weight, symmetries, work] : stages)
                parts.push_back({greedy, weight, symmetries, work});
            return std::make_unique<Search>(std::move(problem), failures, std::move(parts), distinct, seed, spent, seconds);
        }))
        .def("next", &Search::next)
        .def_property_readonly("spent", &Search::spent)
        .def_property_readonly("ended", &Search::ended);
}
