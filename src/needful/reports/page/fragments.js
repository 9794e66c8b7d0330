// Links to a part of the page, such as #task-3/step-2 or #operator-Pick; with several runs, #run-1/task-3.

function fragment(run, ...parts) {
  return [page.runs.length > 1 ? `run-${run.number}` : null, ...parts].filter(Boolean).join("/");
}

function operatorPart(name) {
  return `operator-${encodeURIComponent(name)}`;
}

// Set the fragment without a new entry in the history. Names of 10,000 characters are left out.
function setFragment(run, ...parts) {
  const made = fragment(run, ...parts);
  if (!settled || made.length > 1000) return;
  try {
    history.replaceState(null, "", `#${made}`);
  } catch {
    // The page may be shown where the address cannot change; its content does not depend on it.
  }
}

let settled = false;  // The first task is shown without changing the address.

function readFragment() {
  const found = {};
  for (const part of location.hash.slice(1).split("/")) {
    const [, kind, value] = part.match(/^(run|task|step|operator)-(.+)$/) || [];
    if (kind) found[kind] = kind === "operator" ? decoded(value) : Number(value);
  }
  return found;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
