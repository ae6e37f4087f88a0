/** Data files of a plugin.json plugin: JSON (comments allowed), YAML and CSV become plain values. */
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { parse as parseYaml } from 'yaml';
import { HermesError } from '../contract/errors.ts';
import { blankComments } from './manifest.ts';

/** CSV gives one object per row, keyed by the first row; every value is a string. Throws PLUGIN_INVALID for other kinds of file. */
export function readData(file: string): unknown {
  const text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  switch (extname(file).toLowerCase()) {
    case '.json':
      return JSON.parse(blankComments(text));
    case '.yaml':
    case '.yml':
      return parseYaml(text);
    case '.csv':
      return toRecords(toRows(text));
    default:
      throw new HermesError('PLUGIN_INVALID', `${file} is no data file; use .json, .yaml, .yml or .csv`);
  }
}

function toRecords([header = [], ...rows]: string[][]): Record<string, string>[] {
  return rows.map((row) => Object.fromEntries(header.map((key, column) => [key, row[column] ?? ''])));
}

/** RFC 4180: quoted fields may hold commas, line breaks and doubled quotes. Empty lines are left out. */
function toRows(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain = '', end = ''] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r?\n|$)/g)) {
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    if (row.length > 1 || row[0] !== '') rows.push(row);
    row = [];
  }
  return rows;
}
