"""What is put behind a source so that one of its functions can be called: it decides nothing.

`ENTRY_POINT` stands for the function's name. A driver reads the arguments from standard input, a JSON array, and writes
what the call returned as the last line of standard output. What is no JSON value is an error of the program's.
"""

JAVASCRIPT = r"""
;(async () => {
  const json = (value) => {
    if (value === null || typeof value === "boolean" || typeof value === "bigint") return String(value);
    if (typeof value === "number" && Number.isFinite(value)) return String(value);
    if (typeof value === "string") return JSON.stringify(value);
    if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) {
      return "[" + Array.from(value, json).join(",") + "]";
    }
    if (typeof value === "object" && [Object.prototype, null].includes(Object.getPrototypeOf(value))) {
      const kept = Object.entries(value).filter((pair) => pair[1] !== undefined);
      return "{" + kept.map((pair) => JSON.stringify(pair[0]) + ":" + json(pair[1])).join(",") + "}";
    }
    throw new TypeError("ENTRY_POINT returned what is no JSON value: " + String(value));
  };
  const method = (made) => (...given) => made.ENTRY_POINT(...given);
  const nameless = ["", "default", "default_1"];
  const findIn = (place) => {
    if (typeof place?.ENTRY_POINT === "function") return method(place);
    if (typeof place !== "function") return null;
    if (typeof place.prototype?.ENTRY_POINT === "function") return method(new place());
    return ["ENTRY_POINT", ...nameless].includes(place.name) ? place : null;
  };
  const findAmong = (exported) => {
    const defaults = exported?.default;
    const solutions = [typeof Solution === "undefined" ? null : Solution, exported?.Solution, defaults?.Solution];
    for (const place of [...solutions, exported, defaults]) {
      const found = findIn(place);
      if (found) return found;
    }
    throw new ReferenceError("there is no function ENTRY_POINT");
  };
  const find = () => {
    if (typeof ENTRY_POINT === "function") return Promise.resolve(ENTRY_POINT);
    return (typeof module === "undefined" ? import("./main.js") : Promise.resolve(module.exports)).then(findAmong);
  };
  const read = (take, fail) => {
    let text = "";
    process.stdin.setEncoding("utf8").on("data", (part) => { text += part; }).on("end", () => take(text));
    process.stdin.on("error", fail);
  };
  return new Promise(read).then((text) => find().then((called) => called(...JSON.parse(text)))).then((value) => {
    const told = "\n" + json(value) + "\n";
    process.removeAllListeners("exit");
    process.stdout.write(told, () => process.exit(0));
  });
})().catch((error) => {
  const named = error instanceof Error ? error.name + ": " + error.message : "thrown: " + String(error);
  process.stderr.write(String((error && error.stack) || "") + "\n" + named + "\n", () => process.exit(1));
});
"""
"""For TypeScript too: it has no types to check. In a module there is neither `require` nor `module`: what it exports is
told by itself, which is `main.js`. No word of it makes a module of a script (`unsettled` in the table)."""
