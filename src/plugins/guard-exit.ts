/** A plugin must not be able to end the daemon: process.exit from a plugin's code throws and is logged; from anywhere else it works. */
import { HermesError } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import { currentPlugin } from './current-plugin.ts';

/** Returns the function that takes the guard away again. */
export function guardExit(log: Log): () => void {
  const exit = process.exit;
  const guarded = (code?: number | string | null): never => {
    const plugin = currentPlugin();
    if (plugin === undefined) return exit(code);
    log.error(`Plugin ${plugin} called process.exit(${code ?? ''}); it was refused`, { plugin });
    throw new HermesError('PLUGIN_INVALID', 'a plugin may not call process.exit; throw an error instead');
  };
  process.exit = guarded;
  return () => {
    if (process.exit === guarded) process.exit = exit;
  };
}
