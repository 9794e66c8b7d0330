#include "lm_cut.hpp"

#include <algorithm>

namespace needful {

namespace {

constexpr Id unreached = Id{1} << 30;
constexpr Id no_supporter = -1;

Span all_of(const std::vector<Id>& items) { return {items.data(), items.data() + items.size()}; }

// Of each operator what it adds and does not need.
CsrLists new_effects(const Problem& problem, DeadlinePoller& deadline) {
    CsrLists effects;
    effects.reserve(problem.operator_count(), problem.adds.item_count());
    std::vector<Id> scratch;
    for (std::size_t step = 0; step < problem.operator_count(); ++step) {
        const Span adds = problem.adds[step], needs = problem.preconditions[step];
        deadline.poll(1 + adds.size() + needs.size());
        scratch.clear();
        std::set_difference(adds.begin(), adds.end(), needs.begin(), needs.end(), std::back_inserter(scratch));
        effects.add_list(scratch);
    }
    return effects;
}

// The operators that can contribute to the goal; no other is ever in a landmark.
std::vector<Id> relevant_operators(const Problem& problem, const CsrLists& effects, DeadlinePoller& deadline) {
    const CsrLists added_by = effects.inverted(problem.atom_count(), deadline);
    std::vector<char> wanted(problem.atom_count(), 0), relevant(problem.operator_count(), 0);
    std::vector<Id> stack(problem.goal);
    for (Id atom : stack) wanted[to_index(atom)] = 1;
    while (!stack.empty()) {
        const Id atom = stack.back();
        stack.pop_back();
        deadline.poll(added_by[to_index(atom)].size());
        for (Id step : added_by[to_index(atom)]) {
            if (relevant[to_index(step)]) continue;
            relevant[to_index(step)] = 1;
            for (Id needed : problem.preconditions[to_index(step)])
                if (!wanted[to_index(needed)]) {
                    wanted[to_index(needed)] = 1;
                    stack.push_back(needed);
                }
        }
    }
    std::vector<Id> result;
    for (std::size_t step = 0; step < relevant.size(); ++step)
        if (relevant[step]) result.push_back(static_cast<Id>(step));
    return result;
}

}  // namespace

LmCut::LmCut(const Problem& problem, DeadlinePoller& deadline)
    : always_(static_cast<Id>(problem.atom_count())), goal_(problem.goal) {
    if (goal_.empty()) goal_.push_back(always_);
    const CsrLists all_effects = new_effects(problem, deadline);
    original_ = relevant_operators(problem, all_effects, deadline);
    preconditions_.reserve(original_.size(), problem.preconditions.item_count() + original_.size());
    effects_.reserve(original_.size(), all_effects.item_count());
    precondition_counts_.reserve(original_.size());
    for (Id step : original_) {
        const Span needs = problem.preconditions[to_index(step)];
        deadline.poll(1 + needs.size());
        const Span asked = needs.empty() ? Span{&always_, &always_ + 1} : needs;
        preconditions_.add_list(asked);
        effects_.add_list(all_effects[to_index(step)]);
        precondition_counts_.push_back(static_cast<Id>(asked.size()));
    }
    const std::size_t atoms = problem.atom_count() + 1;
    needed_by_ = preconditions_.inverted(atoms, deadline);
    added_by_ = effects_.inverted(atoms, deadline);
    values_.resize(atoms);
    zone_.resize(atoms);
    reached_.resize(atoms);
    supporters_.resize(original_.size());
    free_.resize(original_.size());
    entered_.resize(original_.size());
}

Estimate LmCut::operator()(const Word* state, std::size_t words, DeadlinePoller& deadline) {
    true_.clear();
    for_each_bit(state, words, [&](Id atom) { true_.push_back(atom); });
    true_.push_back(always_);
    h_max(deadline);
    Estimate estimate;
    Id target = hardest(all_of(goal_));
    if (values_[to_index(target)] == unreached) {
        estimate.value = Estimate::unreachable;
        return estimate;
    }
    std::fill(free_.begin(), free_.end(), 0);
    while (values_[to_index(target)] > 0) {
        find_cut(target, deadline);
        for (Id step : cut_) {
            free_[to_index(step)] = 1;
            estimate.in_landmark.push_back(original_[to_index(step)]);
        }
        ++estimate.landmarks;
        lower(deadline);
        target = hardest(all_of(goal_));
    }
    estimate.value = estimate.landmarks;
    return estimate;
}

// The first, hence lowest, of several.
Id LmCut::hardest(Span atoms) const {
    Id best = atoms[0];
    for (Id atom : atoms)
        if (values_[to_index(atom)] > values_[to_index(best)]) best = atom;
    return best;
}

void LmCut::h_max(DeadlinePoller& deadline) {
    std::fill(values_.begin(), values_.end(), unreached);
    std::fill(supporters_.begin(), supporters_.end(), no_supporter);
    waiting_for_ = precondition_counts_;
    for (Id atom : true_) values_[to_index(atom)] = 0;
    frontier_ = true_;
    for (Id level = 1; !frontier_.empty(); ++level) {
        ready_.clear();
        for (Id atom : frontier_)
            for_each(needed_by_[to_index(atom)], deadline, [&](Id step) {
                if (--waiting_for_[to_index(step)] == 0) ready_.push_back(step);
            });
        frontier_.clear();
        for_each(all_of(ready_), deadline, [&](Id step) {
            supporters_[to_index(step)] = hardest(preconditions_[to_index(step)]);
            for (Id effect : effects_[to_index(step)])
                if (values_[to_index(effect)] == unreached) {
                    values_[to_index(effect)] = level;
                    frontier_.push_back(effect);
                }
        });
    }
}

// The operators that lead from outside into the zone from which the target costs nothing more.
void LmCut::find_cut(Id target, DeadlinePoller& deadline) {
    find_zone(target, deadline);
    cut_.clear();
    bool all_easier = true;
    for_each(all_of(entering_), deadline, [&](Id step) {
        if (zone_[to_index(supporters_[to_index(step)])]) return;
        cut_.push_back(step);
        all_easier = all_easier && values_[to_index(supporters_[to_index(step)])] < values_[to_index(target)];
    });
    if (all_easier) return;
    find_reached(deadline);
    cut_.erase(std::remove_if(cut_.begin(), cut_.end(),
                              [&](Id step) { return !reached_[to_index(supporters_[to_index(step)])]; }),
               cut_.end());
}

void LmCut::find_zone(Id target, DeadlinePoller& deadline) {
    std::fill(zone_.begin(), zone_.end(), 0);
    std::fill(entered_.begin(), entered_.end(), 0);
    entering_.clear();
    zone_[to_index(target)] = 1;
    stack_.assign(1, target);
    while (!stack_.empty()) {
        const Id atom = stack_.back();
        stack_.pop_back();
        for_each(added_by_[to_index(atom)], deadline, [&](Id step) {
            const Id supporter = supporters_[to_index(step)];
            if (supporter == no_supporter || entered_[to_index(step)]) return;
            entered_[to_index(step)] = 1;
            entering_.push_back(step);
            if (free_[to_index(step)] && !zone_[to_index(supporter)]) {
                zone_[to_index(supporter)] = 1;
                stack_.push_back(supporter);
            }
        });
    }
}

// Which atoms can be reached from what is true without the operators that enter the zone.
void LmCut::find_reached(DeadlinePoller& deadline) {
    std::fill(reached_.begin(), reached_.end(), 0);
    for (Id atom : true_) reached_[to_index(atom)] = 1;
    stack_ = true_;
    while (!stack_.empty()) {
        const Id atom = stack_.back();
        stack_.pop_back();
        for_each(needed_by_[to_index(atom)], deadline, [&](Id step) {
            if (entered_[to_index(step)] || supporters_[to_index(step)] != atom) return;
            for (Id effect : effects_[to_index(step)])
                if (!reached_[to_index(effect)]) {
                    reached_[to_index(effect)] = 1;
                    stack_.push_back(effect);
                }
        });
    }
}

void LmCut::offer(std::size_t step, Id value) {
    for (Id effect : effects_[step])
        if (value < values_[to_index(effect)]) {
            values_[to_index(effect)] = value;
            queue_.emplace(value, effect);
        }
}

// Brings values and supporters up to date after the operators of the cut have become free.
void LmCut::lower(DeadlinePoller& deadline) {
    // All are looked at before any value falls: a supporter is only the hardest precondition until then.
    ready_.clear();
    for (Id step : cut_) ready_.push_back(values_[to_index(supporters_[to_index(step)])]);
    auto value = ready_.begin();
    for_each(all_of(cut_), deadline, [&](Id step) { offer(to_index(step), *value++); });
    while (!queue_.empty()) {
        deadline.poll(16);
        const auto [value, atom] = queue_.top();
        queue_.pop();
        if (value > values_[to_index(atom)]) continue;
        for_each(needed_by_[to_index(atom)], deadline, [&](Id step) {
            if (supporters_[to_index(step)] != atom) return;
            const Id now = supporters_[to_index(step)] = hardest(preconditions_[to_index(step)]);
            offer(to_index(step), values_[to_index(now)] + 1 - free_[to_index(step)]);
        });
    }
}

}  // namespace needful
