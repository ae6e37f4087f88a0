/** Figures out of samples, and the table that shows them. */

export interface Row {
  figure: string;
  ours: string;
  /** The yardstick's. */
  bare: string;
  /** The median of the pairs' ratios, with the least and the greatest: how far they are apart tells how noisy the machine was. */
  ratio: string;
  target: string;
  verdict: 'ok' | 'over' | '';
}

/** What the figure, or its ratio to the yardstick, may be. */
export type Target = { most: number } | { least: number };

/** The value below which a `share` (0 to 1) of the samples lies; NaN without samples. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

/** Samples that were taken in pairs, ours and the yardstick's; the target is the ratio's. */
export function compare(figure: string, unit: string, ours: readonly number[], bare: readonly number[], target?: Target): Row {
  const ratios = ours.map((value, index) => value / (bare[index] ?? NaN));
  const ratio = median(ratios);
  const range = ratios.length > 1 ? ` (${format(Math.min(...ratios))}-${format(Math.max(...ratios))})` : '';
  return { figure, ours: `${format(median(ours))} ${unit}`, bare: `${format(median(bare))} ${unit}`, ratio: `${format(ratio)}${range}`, ...judge(ratio, target, 'x') };
}

/** A figure without a yardstick of its own; the target is its own. */
export function state(figure: string, unit: string, samples: readonly number[], target?: Target): Row {
  const value = median(samples);
  return { figure, ours: `${format(value)} ${unit}`, bare: '', ratio: '', ...judge(value, target, ` ${unit}`) };
}

function judge(value: number, target: Target | undefined, unit: string): Pick<Row, 'target' | 'verdict'> {
  if (!target) return { target: '', verdict: '' };
  if ('most' in target) return { target: `<= ${target.most}${unit}`, verdict: value <= target.most ? 'ok' : 'over' };
  return { target: `>= ${target.least}${unit}`, verdict: value >= target.least ? 'ok' : 'over' };
}

function format(value: number): string {
  if (!Number.isFinite(value)) return '-';
  return value >= 100 ? String(Math.round(value)) : value.toFixed(value >= 10 ? 1 : 2);
}

/** A Markdown table with aligned columns. */
export function toTable(rows: readonly Row[]): string {
  const lines = [
    ['figure', 'ours', 'yardstick', 'ratio', 'target', ''],
    ...rows.map(({ figure, ours, bare, ratio, target, verdict }) => [figure, ours, bare, ratio, target, verdict]),
  ];
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0), 3)) ?? [];
  const toLine = (cells: string[]) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = lines;
  return [toLine(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...body.map(toLine)].join('\n');
}
