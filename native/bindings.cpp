// The engine as a Python module; native_planner.py is its only user.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

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

std::vector<NumberedAtom> numbered(const std::vector<Atom>& atoms) {
    std::vector<NumberedAtom> result;
    for (const auto& [predicate, objects] : atoms) result.push_back({predicate, objects});
    return result;
}

ProblemPointer ground_question(std::vector<Id> predicate_arities, std::vector<Id> object_types,
                               std::vector<std::vector<Id>> type_members,
                               const std::vector<OperatorTuple>& operators, const std::vector<Atom>& initial,
                               const std::vector<Atom>& goal, bool allow_noops, double seconds) {
    const Deadline deadline = Deadline::after(seconds);
    Question question;
    question.predicate_arities = std::move(predicate_arities);
    question.object_types = std::move(object_types);
    question.type_members = std::move(type_members);
    for (const OperatorTuple& one : operators) question.operators.push_back(lifted(one));
    question.initial = numbered(initial);
    question.goal = numbered(goal);
    question.allow_noops = allow_noops;
    py::gil_scoped_release release;
    return ground(question, deadline);
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

// A search under way, and what it has cost.
class Search {
public:
    Search(ProblemPointer problem, std::vector<Stage> stages, bool distinct, std::uint64_t seed,
           std::int64_t created) {
        effort_.created = created;
        py::gil_scoped_release release;
        plans_ = start_search(std::move(problem), std::move(stages), distinct, seed, effort_);
    }

    std::optional<Plan> next(double seconds, std::int64_t max_nodes) {
        const Budget budget{Deadline::after(seconds), max_nodes < 0 ? unlimited_nodes : max_nodes};
        Plan plan;
        bool found;
        {
            py::gil_scoped_release release;
            found = plans_->next(budget, effort_, plan);
        }
        return found ? std::optional<Plan>(std::move(plan)) : std::nullopt;
    }

    const char* ended() const { return name_of(plans_->ended()); }
    const Effort& effort() const { return effort_; }

private:
    Effort effort_;
    std::unique_ptr<PlanStream> plans_;
};

}  // namespace

PYBIND11_MODULE(_engine, module) {
    module.doc() = "Grounding and search for abstract plans.";
    py::class_<Problem, std::shared_ptr<Problem>>(module, "Problem")
        .def_readonly("goal_reachable", &Problem::goal_reachable)
        .def_readonly("failures", &Problem::failures)
        .def_property_readonly("operator_count", &Problem::operator_count)
        .def("ground_operator", &ground_operator)
        .def("with_failure", [](const Problem& problem, Id step, Id object) {
            return std::const_pointer_cast<Problem>(with_failure(problem, step, object));
        });
    module.def("ground", [](std::vector<Id> arities, std::vector<Id> object_types,
                            std::vector<std::vector<Id>> type_members, const std::vector<OperatorTuple>& operators,
                            const std::vector<Atom>& initial, const std::vector<Atom>& goal, bool allow_noops,
                            double seconds) {
        return std::const_pointer_cast<Problem>(ground_question(std::move(arities), std::move(object_types),
                                                                std::move(type_members), operators, initial, goal,
                                                                allow_noops, seconds));
    });
    py::class_<Search>(module, "Search")
        .def(py::init([](std::shared_ptr<Problem> problem,
                         const std::vector<std::tuple<bool, Id, bool, std::int64_t>>& stages, bool distinct,
                         std::uint64_t seed, std::int64_t created) {
            std::vector<Stage> parts;
            for (const auto& [greedy, weight, symmetries, work] : stages)
                parts.push_back({greedy, weight, symmetries, work});
            return std::make_unique<Search>(std::move(problem), std::move(parts), distinct, seed, created);
        }))
        .def("next", &Search::next)
        .def_property_readonly("ended", &Search::ended)
        .def_property_readonly("created", [](const Search& search) { return search.effort().created; })
        .def_property_readonly("expanded", [](const Search& search) { return search.effort().expanded; })
        .def_property_readonly("evaluated", [](const Search& search) { return search.effort().evaluated; });
}
