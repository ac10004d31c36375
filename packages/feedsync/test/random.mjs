// Random numbers from a seed (mulberry32): the same seed gives the same schedule.

export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  below(most) {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let bits = this.state;
    bits = Math.imul(bits ^ (bits >>> 15), bits | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return Math.floor(((bits ^ (bits >>> 14)) >>> 0) / 4294967296 * most);
  }

  of(list) {
    return list[this.below(list.length)];
  }

  name() {
    return Array.from({ length: 16 }, () => this.below(16).toString(16)).join("");
  }
}
