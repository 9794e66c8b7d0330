// How a run was made: its command, settings, versions and time.

function madeSection(run) {
  const made = run.made;
  if (!made) return null;
  const facts = [
    ["Command", made.command && code(made.command, {class: "command"})],
    ["Started", made.started && made.started.replace("T", " ").replace("Z", " UTC")],
    ["Duration", made.seconds === null ? null : `${seconds(made.seconds)}, without this page`],
    ["Versions", Object.entries(run.versions).map(([name, version]) => `${name} ${version}`).join(", ")],
  ].filter(([, value]) => value);
  return section("made", "How this run was made",
    make("dl", {class: "made"}, facts.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]).flat()),
    make("details", {}, make("summary", {}, `All ${count(Object.keys(made.settings).length, "setting")}`),
      dataTable("Settings", ["setting", "value"], Object.entries(made.settings))));
}
