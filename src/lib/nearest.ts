/** "Did you mean": the known name that takes the fewest edits, for messages about names that do not exist. */

/** The candidate with the least distance, the first one on a tie; null only when there are no candidates. */
export function nearest(name: string, candidates: Iterable<string>): string | null {
  let best: string | null = null;
  let least = Infinity;
  for (const candidate of candidates) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours, each counted as one. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped) cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      current.push(cost);
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, to.length);
}

function at(row: number[], column: number): number {
  return row[column] ?? Infinity;
}
