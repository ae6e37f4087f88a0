/** Ids that hold their moment: https://discord.com/developers/docs/reference#snowflakes. They are compared as numbers, kept as strings. */

const epoch = 1_420_070_400_000;

/** Negative, zero or positive, as for sort(). */
export function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** The moment of an id, ms since the epoch. */
export function toTime(id: string): number {
  return Number(BigInt(id) >> 22n) + epoch;
}

/** The first id of a moment (ms since the epoch). */
export function toFirstId(at: number): string {
  return String(BigInt(Math.max(0, Math.floor(at) - epoch)) << 22n);
}
