/** Changes one key of config.yaml, but only if the result is a configuration that a start would accept. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile, setKey } from '../../config/edit.ts';
import { HermesError } from '../contract/errors.ts';
import type { CliContext } from './context.ts';

/**
 * `value` is taken as YAML (`12`, `true`, `[1, 2]`); where that is not accepted, as a text. Rejects with CONFIG_INVALID, and
 * the file is as it was.
 */
export async function writeKey(context: CliContext, key: string, value: string): Promise<void> {
  const globals = context.globals();
  const path = join(globals.home, 'config.yaml');
  const before = readIfThere(path);
  let refusal: HermesError | undefined;
  for (const asText of [false, true]) {
    try {
      const text = setKey(path, before, key, value, asText);
      await context.deps.loadConfig(globals, text);
      replaceFile(path, text);
      return;
    } catch (error) {
      if (!(error instanceof HermesError) || error.code === 'HOME_UNUSABLE') throw error;
      // "Not valid YAML" says less than what the loader has against the text.
      if (refusal?.code !== 'CONFIG_INVALID') refusal = error;
    }
  }
  throw refusal;
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}
