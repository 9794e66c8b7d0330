// What is doubtful about the operators, in words.

const DOUBT_TITLES = {
  uncovered: "not covered",
  validation: "cross-validation",
  false_claim: "false claim",
  limited_search: "limited search",
  few_transitions: "few transitions",
  rare_effect: "rare effect",
  purposeless: "purposeless steps",
  idle: "idle steps",
  repaired: "repaired atoms",
};

function doubtsSection(run) {
  const doubts = run.model && run.model.doubts;
  if (!doubts) return null;
  const validated = run.facts.false_claims_validated;
  const facts = [
    `${count(doubts.falseClaims, "false claim")} in ${doubts.falseTransitions} of ${count(doubts.transitions, "transition")}`,
    validated === undefined ? null : `${count(validated, "false claim")} on left-out demonstrations`,
    doubts.purposeless ? count(doubts.purposeless, "purposeless step") : null,
    doubts.idle ? count(doubts.idle, "idle step") : null,
    doubts.repaired ? count(doubts.repaired, "repaired atom") : null];
  const items = doubts.items.map(one => make("li", {},
    make("span", {class: "verb"}, DOUBT_TITLES[one.kind] || words(one.kind)), " ", prose(one.text)));
  return section("doubts", "Doubts",
    make("p", {class: "lead"}, "Where the operators may be wrong, seen in the demonstrations. A false claim is an atom that an ",
      "applicable operator predicts and that did not hold after the action."),
    make("ul", {class: "chips"}, facts.filter(Boolean).map(fact => make("li", {}, fact))),
    items.length ? make("ul", {class: "doubts"}, items) : make("p", {class: "quiet"}, "Nothing is doubtful."));
}
