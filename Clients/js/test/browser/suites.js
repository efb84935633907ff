// Runs test modules in a page: those that export `run(vectors, test)`, as Node runs them.

/** Returns what each suite has run, and what failed: `{ suite: { passed, failures } }`. */
export async function runSuites(paths, names) {
  const read = async (name) => [name, await (await fetch(`/Tests/Vectors/${name}.json`)).json()];
  const files = Object.fromEntries(await Promise.all(names.map(read)));
  // A suite reads a file by a property, or by a call.
  const vectors = Object.assign((name) => files[name], files);
  const report = {};
  for (const path of paths) {
    const { run } = await import(path);
    if (typeof run !== 'function') continue;
    const tests = [];
    run(vectors, (name, ...rest) => tests.push([name, rest.at(-1)]));
    const failures = [];
    for (const [name, body] of tests) {
      try {
        await body();
      } catch (error) {
        failures.push(`${name}: ${error.stack ?? error}`.slice(0, 2000));
      }
    }
    report[path] = { passed: tests.length - failures.length, failures };
  }
  return report;
}
