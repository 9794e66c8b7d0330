#include "lm_cut.hpp"

#include <algorithm>

namespace needful {

namespace {

constexpr Id unreached = Id{1} << 30;
constexpr Id no_supporter = -1;

// Returns the operators that can contribute to the goal. Landmarks contain no others.
std::vector<Id> relevant_operators(const DeleteRelaxation& relaxation, const std::vector<Id>& goal,
                                   DeadlinePoller& deadline) {
    const CsrLists added_by = relaxation.effects.inverted(relaxation.atom_count, deadline);
    std::vector<char> atom_relevant(relaxation.atom_count, 0), op_relevant(relaxation.effects.size(), 0);
    std::vector<Id> stack(goal);
    for (Id atom : stack) atom_relevant[to_index(atom)] = 1;
    while (!stack.empty()) {
        const Id atom = stack.back();
        stack.pop_back();
        deadline.poll(added_by[to_index(atom)].size());
        for (Id op : added_by[to_index(atom)]) {
            if (op_relevant[to_index(op)]) continue;
            op_relevant[to_index(op)] = 1;
            for (Id precondition : relaxation.preconditions[to_index(op)])
                if (!atom_relevant[to_index(precondition)]) {
                    atom_relevant[to_index(precondition)] = 1;
                    stack.push_back(precondition);
                }
        }
    }
    std::vector<Id> result;
    for (std::size_t op = 0; op < op_relevant.size(); ++op)
        if (op_relevant[op]) result.push_back(static_cast<Id>(op));
    return result;
}

}  // namespace

LmCut::LmCut(const Problem& problem, DeadlinePoller& deadline)
    : goal_(problem.goal), unit_costs_(problem.costs.empty()) {
    DeleteRelaxation relaxation(problem, deadline);
    true_atom_ = static_cast<Id>(relaxation.atom_count);
    operator_ids_ = relevant_operators(relaxation, problem.goal, deadline);
    complements_ = std::move(relaxation.complements);
    if (goal_.empty()) goal_.push_back(true_atom_);
    preconditions_.reserve(operator_ids_.size(), relaxation.preconditions.item_count() + operator_ids_.size());
    effects_.reserve(operator_ids_.size(), relaxation.effects.item_count());
    precondition_counts_.reserve(operator_ids_.size());
    initial_costs_.reserve(operator_ids_.size());
    for (Id op : operator_ids_) {
        const Span original = relaxation.preconditions[to_index(op)];
        deadline.poll(1 + original.size());
        const Span preconditions = original.empty() ? Span{&true_atom_, &true_atom_ + 1} : original;
        preconditions_.add_list(preconditions);
        effects_.add_list(relaxation.effects[to_index(op)]);
        precondition_counts_.push_back(static_cast<Id>(preconditions.size()));
        initial_costs_.push_back(problem.cost(op));
    }
    const std::size_t atom_count = relaxation.atom_count + 1;
    precondition_of_ = preconditions_.inverted(atom_count, deadline);
    added_by_ = effects_.inverted(atom_count, deadline);
    h_max_.resize(atom_count);
    goal_zone_.resize(atom_count);
    before_goal_zone_.resize(atom_count);
    supporters_.resize(operator_ids_.size());
    is_zone_achiever_.resize(operator_ids_.size());
}

Estimate LmCut::operator()(const Word* state, std::size_t words, DeadlinePoller& deadline) {
    state_atoms_.clear();
    for_each_bit(state, words, [&](Id atom) { state_atoms_.push_back(atom); });
    complements_.for_each_true(state, [&](Id complement) { state_atoms_.push_back(complement); });
    state_atoms_.push_back(true_atom_);
    compute_h_max(deadline);
    Estimate estimate;
    Id target = find_supporter(span_of(goal_));
    if (h_max_[to_index(target)] == unreached) {
        estimate.value = Estimate::unreachable;
        return estimate;
    }
    while (h_max_[to_index(target)] > 0) {
        find_cut(target, deadline);
        Id cut_cost = 1;
        if (!unit_costs_) {
            cut_cost = costs_[to_index(cut_[0])];
            for (Id op : cut_) cut_cost = std::min(cut_cost, costs_[to_index(op)]);
        }
        for (Id op : cut_) {
            costs_[to_index(op)] -= cut_cost;
            estimate.landmark_operators.push_back({operator_ids_[to_index(op)], cut_cost});
        }
        estimate.value += cut_cost;
        update_h_max(deadline);
        target = find_supporter(span_of(goal_));
    }
    return estimate;
}

// Returns the atom with the greatest h-max. Ties go to the lowest id, because the atoms are sorted.
Id LmCut::find_supporter(Span atoms) const {
    Id best = atoms[0];
    for (Id atom : atoms)
        if (h_max_[to_index(atom)] > h_max_[to_index(best)]) best = atom;
    return best;
}

void LmCut::compute_h_max(DeadlinePoller& deadline) {
    std::fill(h_max_.begin(), h_max_.end(), unreached);
    std::fill(supporters_.begin(), supporters_.end(), no_supporter);
    unsatisfied_ = precondition_counts_;
    costs_ = initial_costs_;
    for (Id atom : state_atoms_) h_max_[to_index(atom)] = 0;
    if (unit_costs_)
        compute_h_max_by_level(deadline);
    else
        compute_h_max_by_cost(deadline);
}

// Breadth-first search, for operators of cost 1.
void LmCut::compute_h_max_by_level(DeadlinePoller& deadline) {
    frontier_ = state_atoms_;
    for (Id level = 1; !frontier_.empty(); ++level) {
        ready_.clear();
        for (Id atom : frontier_)
            for_each(precondition_of_[to_index(atom)], deadline, [&](Id op) {
                if (--unsatisfied_[to_index(op)] == 0) ready_.push_back(op);
            });
        frontier_.clear();
        for_each(span_of(ready_), deadline, [&](Id op) {
            supporters_[to_index(op)] = find_supporter(preconditions_[to_index(op)]);
            for (Id effect : effects_[to_index(op)])
                if (h_max_[to_index(effect)] == unreached) {
                    h_max_[to_index(effect)] = level;
                    frontier_.push_back(effect);
                }
        });
    }
}

// Dijkstra's algorithm.
void LmCut::compute_h_max_by_cost(DeadlinePoller& deadline) {
    for (Id atom : state_atoms_) queue_.emplace(0, atom);
    while (!queue_.empty()) {
        deadline.poll(16);
        const auto [value, atom] = queue_.top();
        queue_.pop();
        if (value > h_max_[to_index(atom)]) continue;
        for_each(precondition_of_[to_index(atom)], deadline, [&](Id op) {
            if (--unsatisfied_[to_index(op)] > 0) return;
            const Id supporter = supporters_[to_index(op)] = find_supporter(preconditions_[to_index(op)]);
            lower_effects(to_index(op), h_max_[to_index(supporter)] + costs_[to_index(op)]);
        });
    }
}

// Finds the operators of the cut: they add an atom of the goal zone, and their supporter is reachable from the state
// without entering the zone.
void LmCut::find_cut(Id target, DeadlinePoller& deadline) {
    find_goal_zone(target, deadline);
    cut_.clear();
    bool all_cheaper = true;
    for_each(span_of(zone_achievers_), deadline, [&](Id op) {
        const std::size_t supporter = to_index(supporters_[to_index(op)]);
        if (goal_zone_[supporter]) return;
        cut_.push_back(op);
        all_cheaper = all_cheaper && h_max_[supporter] < h_max_[to_index(target)];
    });
    // Supporters with a lower h-max than the target are always reachable without passing through the zone.
    if (all_cheaper) return;
    find_before_goal_zone(deadline);
    cut_.erase(std::remove_if(cut_.begin(), cut_.end(),
                              [&](Id op) { return !before_goal_zone_[to_index(supporters_[to_index(op)])]; }),
               cut_.end());
}

// Finds the atoms from which zero-cost operators lead to the target, and the operators that add these atoms.
void LmCut::find_goal_zone(Id target, DeadlinePoller& deadline) {
    std::fill(goal_zone_.begin(), goal_zone_.end(), 0);
    std::fill(is_zone_achiever_.begin(), is_zone_achiever_.end(), 0);
    zone_achievers_.clear();
    goal_zone_[to_index(target)] = 1;
    stack_.assign(1, target);
    while (!stack_.empty()) {
        const Id atom = stack_.back();
        stack_.pop_back();
        for_each(added_by_[to_index(atom)], deadline, [&](Id op) {
            const Id supporter = supporters_[to_index(op)];
            if (supporter == no_supporter || is_zone_achiever_[to_index(op)]) return;
            is_zone_achiever_[to_index(op)] = 1;
            zone_achievers_.push_back(op);
            if (costs_[to_index(op)] == 0 && !goal_zone_[to_index(supporter)]) {
                goal_zone_[to_index(supporter)] = 1;
                stack_.push_back(supporter);
            }
        });
    }
}

// Finds the atoms that are reachable from the state without operators that add an atom of the goal zone.
void LmCut::find_before_goal_zone(DeadlinePoller& deadline) {
    std::fill(before_goal_zone_.begin(), before_goal_zone_.end(), 0);
    for (Id atom : state_atoms_) before_goal_zone_[to_index(atom)] = 1;
    stack_ = state_atoms_;
    while (!stack_.empty()) {
        const Id atom = stack_.back();
        stack_.pop_back();
        for_each(precondition_of_[to_index(atom)], deadline, [&](Id op) {
            if (is_zone_achiever_[to_index(op)] || supporters_[to_index(op)] != atom) return;
            for (Id effect : effects_[to_index(op)])
                if (!before_goal_zone_[to_index(effect)]) {
                    before_goal_zone_[to_index(effect)] = 1;
                    stack_.push_back(effect);
                }
        });
    }
}

void LmCut::lower_effects(std::size_t op, Id value) {
    for (Id effect : effects_[op])
        if (value < h_max_[to_index(effect)]) {
            h_max_[to_index(effect)] = value;
            queue_.emplace(value, effect);
        }
}

// Updates h-max and the supporters after the costs of the cut's operators were lowered.
void LmCut::update_h_max(DeadlinePoller& deadline) {
    // Read all values first: once a value is lowered, the supporters may be out of date.
    cut_values_.clear();
    for (Id op : cut_) cut_values_.push_back(h_max_[to_index(supporters_[to_index(op)])] + costs_[to_index(op)]);
    auto cut_value = cut_values_.begin();
    for_each(span_of(cut_), deadline, [&](Id op) { lower_effects(to_index(op), *cut_value++); });
    while (!queue_.empty()) {
        deadline.poll(16);
        const auto [value, atom] = queue_.top();
        queue_.pop();
        if (value > h_max_[to_index(atom)]) continue;
        for_each(precondition_of_[to_index(atom)], deadline, [&](Id op) {
            if (supporters_[to_index(op)] != atom) return;
            const Id supporter = supporters_[to_index(op)] = find_supporter(preconditions_[to_index(op)]);
            lower_effects(to_index(op), h_max_[to_index(supporter)] + costs_[to_index(op)]);
        });
    }
}

}  // namespace needful
