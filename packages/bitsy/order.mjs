// Names the functions of a WebAssembly module in an order that packs well: `node order.mjs IN OUT`.
//
// gzip finds a repetition only within 32 KiB. Generic code has many similar functions, and compilers leave them far
// apart. This script puts similar functions next to each other: `wasm-opt --reorder-functions-by-name` then sorts them
// by these names and adapts all calls. The order depends only on the input.
import { readFileSync, writeFileSync } from "node:fs";

const GRAM = 6;
const WINDOW = 30000;
// Sequences that more functions have than this say nothing about similarity.
const MAX_OWNERS = 1000;
// Functions that are called more often come first, because small numbers need fewer bits in each call. Each tier of
// this size has an order of its own.
const TIERS = [40];
const [CUSTOM, IMPORT, CODE] = [0, 2, 10];

class Reader {
  constructor(bytes, offset = 0) {
    Object.assign(this, { bytes, offset });
  }

  number() {
    for (let value = 0, factor = 1; ; factor *= 128) {
      const byte = this.bytes[this.offset++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  part(length) {
    this.offset += length;
    return this.bytes.subarray(this.offset - length, this.offset);
  }

  limits() {
    const flags = this.number();
    this.number();
    if (flags & 1) this.number();
  }
}

function sections(bytes) {
  const reader = new Reader(bytes, 8), found = [];
  while (reader.offset < bytes.length) {
    const start = reader.offset, id = reader.number(), body = reader.part(reader.number());
    found.push({ id, body, whole: bytes.subarray(start, reader.offset) });
  }
  return found;
}

function importedFunctions(body) {
  const reader = new Reader(body);
  let functions = 0;
  for (let left = reader.number(); left > 0; left--) {
    reader.part(reader.number());
    reader.part(reader.number());
    const kind = reader.number();
    if (kind === 0) reader.number(), functions++;
    else if (kind === 1) reader.part(1), reader.limits();
    else if (kind === 2) reader.limits();
    else if (kind === 3) reader.part(2);
    else reader.part(1), reader.number();
  }
  return functions;
}

function bodies(body) {
  const reader = new Reader(body);
  return Array.from({ length: reader.number() }, () => reader.part(reader.number()));
}

// Number of calls of each function. A byte of an operand may look like a call: that changes the order only.
function calls(functions, imported) {
  const counts = new Uint32Array(functions.length);
  for (const bytes of functions) {
    for (let at = 0; at < bytes.length - 4; at++) {
      if (bytes[at] !== 0x10) continue;
      const called = new Reader(bytes, at + 1).number() - imported;
      if (called >= 0 && called < counts.length) counts[called]++;
    }
  }
  return counts;
}

// The distinct sequences of GRAM bytes of a function, as hashes.
function grams(bytes) {
  const found = new Set();
  for (let at = 0; at + GRAM <= bytes.length; at++) {
    let hash = 0;
    for (let next = at; next < at + GRAM; next++) hash = Math.imul(hash, 0x01000193) ^ bytes[next];
    found.add(Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0);
  }
  return found;
}

// For each function the sequences that other functions have, too, and for each sequence its functions.
function shared(functions) {
  const owners = new Map(), own = functions.map(grams);
  own.forEach((set, index) => set.forEach((gram) => {
    const list = owners.get(gram);
    if (list) list.push(index);
    else owners.set(gram, [index]);
  }));
  for (const [gram, list] of owners) if (list.length < 2 || list.length > MAX_OWNERS) owners.delete(gram);
  return { owners, own: own.map((set) => [...set].filter((gram) => owners.has(gram))) };
}

// For each tier appends the function that shares most with the last WINDOW bytes, until none is left.
function ordered(functions, tiers) {
  const { owners, own } = shared(functions);
  const score = new Int32Array(functions.length), uses = new Map();
  const order = [], recent = [];
  let length = 0;
  const add = (gram, change) => owners.get(gram).forEach((index) => { score[index] += change; });
  const append = (index) => {
    order.push(index);
    recent.push(index);
    length += functions[index].length;
    for (const gram of own[index]) {
      const count = uses.get(gram) ?? 0;
      uses.set(gram, count + 1);
      if (!count) add(gram, 1);
    }
    while (length > WINDOW && recent.length > 1) {
      const old = recent.shift();
      length -= functions[old].length;
      for (const gram of own[old]) {
        const count = uses.get(gram) - 1;
        uses.set(gram, count);
        if (!count) add(gram, -1);
      }
    }
  };
  for (const tier of tiers) {
    const left = new Set(tier);
    while (left.size) {
      let best, most = -1;
      for (const index of left) {
        const share = score[index] / (functions[index].length + 8) ** 0.8;
        if (share > most) [best, most] = [index, share];
      }
      left.delete(best);
      append(best);
    }
  }
  return order;
}

function number(value) {
  const bytes = [];
  do bytes.push(value % 128 + (value >= 128 ? 128 : 0)); while ((value = Math.floor(value / 128)));
  return bytes;
}

const sized = (bytes) => [...number(bytes.length), ...bytes];
const text = (string) => sized([...Buffer.from(string)]);

// A section that names each function by its position in the order.
function nameSection(order, imported) {
  const names = [];
  order.forEach((index, position) => { names[index] = String(position).padStart(6, "0"); });
  const map = [...number(names.length), ...names.flatMap((name, index) => [...number(index + imported), ...text(name)])];
  return Buffer.from([CUSTOM, ...sized([...text("name"), 1, ...sized(map)])]);
}

const [source, target] = process.argv.slice(2);
const bytes = readFileSync(source);
const all = sections(bytes);
const imported = importedFunctions(all.find(({ id }) => id === IMPORT)?.body ?? Buffer.from([0]));
const functions = bodies(all.find(({ id }) => id === CODE).body);
const counts = calls(functions, imported);
const frequent = [...functions.keys()].sort((a, b) => counts[b] - counts[a] || a - b);
const tiers = [...TIERS, Infinity].map((size) => frequent.splice(0, size));
const names = nameSection(ordered(functions, tiers), imported);
const kept = all.filter(({ id }) => id !== CUSTOM).map(({ whole }) => whole);
writeFileSync(target, Buffer.concat([bytes.subarray(0, 8), ...kept, names]));
