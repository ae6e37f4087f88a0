/**
 * A plugin's small memory: one JSON file under the home's cache. Each change is written to a file beside it, flushed and renamed,
 * so that a crash leaves the old state or the new one. Another process's changes are seen, because its rename gives a new file.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { HermesError, toMessage } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import { isRecord } from './manifest.ts';

export const maxStateBytes = 10 * 1024 * 1024;

export interface PluginState {
  /** A copy of what was set; undefined when nothing was. */
  get(key: string): unknown;
  /** Any JSON value; undefined removes the key. Throws PLUGIN_INVALID over 10 MB or when the value is no JSON. */
  set(key: string, value: unknown): void;
}

export function createPluginState(file: string, log: Log): PluginState {
  let known: { stamp: string; values: Map<string, unknown> } | null = null;

  function read(): Map<string, unknown> {
    const stamp = stampOf(file);
    if (known?.stamp === stamp) return known.values;
    known = { stamp, values: stamp === '' ? new Map() : new Map(Object.entries(parse(file, log))) };
    return known.values;
  }

  return {
    get: (key) => structuredClone(read().get(key)),
    set(key, value) {
      const values = new Map(read());
      const json = toJson(key, value);
      if (json === undefined) values.delete(key);
      else values.set(key, JSON.parse(json));
      // defineProperty semantics, so that a key such as __proto__ is a key like any other.
      const text = JSON.stringify(Object.fromEntries(values));
      if (Buffer.byteLength(text) > maxStateBytes)
        throw new HermesError('PLUGIN_INVALID', `the plugin's state would be larger than 10 MB; keep files of your own under the home folder instead`);
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      const beside = `${file}.${process.pid}.new`;
      const handle = openSync(beside, 'w', 0o600);
      try {
        writeFileSync(handle, text);
        fsyncSync(handle);
      } finally {
        closeSync(handle);
      }
      renameSync(beside, file);
      known = { stamp: stampOf(file), values };
    },
  };
}

function toJson(key: string, value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (thrown) {
    throw new HermesError('PLUGIN_INVALID', `the value for "${key}" is no JSON: ${toMessage(thrown)}`, { cause: thrown });
  }
}

/** Changes with every rename; empty when there is no file. */
function stampOf(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false, bigint: true });
  return stats ? `${stats.ino}:${stats.mtimeNs}:${stats.size}` : '';
}

function parse(file: string, log: Log): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (isRecord(value)) return value;
    throw new Error('it holds no object');
  } catch (thrown) {
    log.error(`The plugin's state cannot be read and begins empty; the damaged file is kept as ${file}.damaged`, { error: toMessage(thrown) });
    renameSync(file, `${file}.damaged`);
    return {};
  }
}
