// The environment of the functions of one design document. The host evaluates this expression and calls the result with
// the text of the design document; that result executes calls. All values are passed as JSON texts.
(function (designText, maxOutput) {
  "use strict";

  // Functions of a design document can change the global objects, but only those of its own environment.
  const { parse, stringify } = JSON;
  const { InternalError, eval: evaluate } = globalThis;
  const design = parse(designText);
  const compiled = new Map();
  let output = 0;
  let rows = null;

  class Refusal extends Error {
    constructor(name, message) {
      super(message);
      this.name = name;
    }
  }

  const text = (value) => {
    const written = stringify(value);
    return written === undefined ? "null" : written;
  };

  // The size of the output is checked again after the function, which may have caught the exception.
  const grow = (length) => {
    output += length;
    if (output > maxOutput) throw new Refusal("output", "the functions return too much");
  };

  const member = (path) => path.reduce(
    (value, name) =>
      value !== null && typeof value === "object" && Object.hasOwn(value, name) ? value[name] : undefined,
    design,
  );

  const freeze = (value) => {
    if (value !== null && typeof value === "object" && !Object.isFrozen(value)) {
      Object.freeze(value);
      Object.values(value).forEach(freeze);
    }
    return value;
  };

  // Resolves a path of CommonJS in the design document: relative to a module, or from the top.
  const resolve = (path, from) => {
    const steps = path.split("/");
    const isRelative = steps[0] === "." || steps[0] === "..";
    return steps.reduce((place, step) => {
      if (step === "..") return place.slice(0, -1);
      return step === "." || step === "" ? place : [...place, step];
    }, isRelative ? from : []);
  };

  const modules = new Map();
  const requireFrom = (from) => (path) => {
    const place = resolve(String(path), from);
    const key = text(place);
    if (modules.has(key)) return modules.get(key).exports;
    const source = member(place);
    if (typeof source !== "string") throw new Error(`the design document has no module ${place.join("/")}`);
    const module = { id: place.join("/"), exports: {} };
    modules.set(key, module);
    try {
      const load = evaluate(`(function (module, exports, require) {${source}\n})`);
      load.call(module.exports, module, module.exports, requireFrom(place.slice(0, -1)));
    } catch (error) {
      modules.delete(key);
      throw error;
    }
    return module.exports;
  };

  // The function at a path of the design document. `require` begins at the top.
  const compile = (path) => {
    const key = text(path);
    if (compiled.has(key)) return compiled.get(key);
    const source = member(path);
    if (typeof source !== "string") throw new Refusal("missing", `missing function ${path.join(".")}`);
    let made;
    try {
      made = evaluate(`(${source.replace(/[\s;]+$/, "")}\n)`);
    } catch (error) {
      throw new Refusal("compilation", `${path.join(".")} cannot be compiled: ${error}`);
    }
    if (typeof made !== "function") {
      throw new Refusal("compilation", `${path.join(".")} is not a function`);
    }
    compiled.set(key, made);
    return made;
  };

  Object.assign(globalThis, {
    emit(key, value) {
      if (rows === null) throw new Error("emit is for map functions");
      const row = `[${text(key)},${text(value)}]`;
      grow(row.length);
      rows.push(row);
    },
    isArray: Array.isArray,
    log() {},
    require: requireFrom([]),
    sum: (values) => values.reduce((total, value) => total + value, 0),
    toJSON: text,
  });

  // Nothing executes jobs.
  delete globalThis.queueMicrotask;

  // Names of the views that have a map function, in the order of the host.
  const views = Object.keys(Object(member(["views"]))).filter(
    (name) => name !== "lib" && member(["views", name, "map"]) !== undefined,
  ).sort();

  // Without memory for an exception, null is thrown.
  const lacksMemory = (error) =>
    error === null || (error instanceof InternalError && error.message === "out of memory");

  const isFatal = (error) => error instanceof Refusal || lacksMemory(error);

  // A document whose map function throws an exception is not in the view, as in CouchDB.
  const mapOne = (name, document) => {
    const map = compile(["views", name, "map"]);
    rows = [];
    try {
      map.call(undefined, document);
      if (output > maxOutput) throw new Refusal("output", "the functions return too much");
      return `[${rows.join(",")}]`;
    } catch (error) {
      if (isFatal(error)) throw error;
      return "[]";
    } finally {
      rows = null;
    }
  };

  const filterOne = (name, document, request) =>
    compile(["filters", name]).call(design, document, request) ? true : false;

  const calls = {
    // One element for each document, with one element for each view, which is a list of rows.
    map: (documents) => {
      const mapped = documents.map((document) => {
        freeze(document);
        return `[${views.map((name) => mapOne(name, document)).join(",")}]`;
      });
      return `[${mapped.join(",")}]`;
    },
    views: () => text(views),
    filter: (name, documents, request) =>
      text(documents.map((document) => filterOne(name, document, request))),
    // A document passes if the view has a row for it.
    filter_by_view: (name, documents) =>
      text(documents.map((document) => mapOne(name, freeze(document)) !== "[]")),
    // An exception gives null, as in CouchDB.
    reduce: (name, lists, isAgain) => {
      const reduce = compile(["views", name, "reduce"]);
      const reduced = lists.map(([keys, values]) => {
        try {
          return text(reduce.call(undefined, isAgain ? null : keys, values, isAgain));
        } catch (error) {
          if (isFatal(error)) throw error;
          return "null";
        }
      });
      return `[${reduced.join(",")}]`;
    },
    // The functions of CouchDB refuse a document by an exception that is an object with one of these members.
    validate: (updates, user, security) => {
      const validate = compile(["validate_doc_update"]);
      return text(updates.map(([document, before]) => {
        try {
          validate.call(design, document, before, user, security);
          return null;
        } catch (error) {
          if (isFatal(error)) throw error;
          if (typeof error !== "object" || error instanceof Error) return described(error);
          for (const kind of ["forbidden", "unauthorized"]) {
            if (Object.hasOwn(error, kind)) {
              const reason = error[kind];
              return { [kind]: typeof reason === "string" ? reason : text(reason) };
            }
          }
          return described(error);
        }
      }));
    },
  };

  const described = (error) => {
    if (error instanceof Refusal) return { refused: error.name, reason: error.message };
    const isError = error instanceof Error;
    return { thrown: isError ? `${error.name}: ${error.message}` : text(error) };
  };

  return (callText) => {
    output = 0;
    try {
      const [name, ...values] = parse(callText);
      const result = calls[name](...values);
      grow(result.length);
      return `{"ok":${result}}`;
    } catch (error) {
      if (lacksMemory(error)) throw error;
      return text(described(error));
    }
  };
})
