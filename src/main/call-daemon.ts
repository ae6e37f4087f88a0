/** A call to the running daemon's HTTP API with the home's own key. */
import { loadConfig } from '../../config/load.ts';
import type { GlobalOptions } from '../cli/deps.ts';
import { HermesError, toMessage } from '../contract/errors.ts';
import { readHolder } from '../store/lock.ts';
import { platformSchemas, type Environment } from './open-home.ts';

const timeoutMs = 10_000;

/** Resolves with the parsed answer (or its text). Rejects with ADAPTER_OFF when no daemon answers, REQUEST_INVALID when it refuses. */
export async function callDaemon({ home }: GlobalOptions, env: Environment, method: string, path: string, body?: unknown): Promise<unknown> {
  const { config } = loadConfig({ home, env, platforms: platformSchemas(), pluginPlatforms: 'later' });
  const url = readHolder(home)?.url;
  if (!url) throw new HermesError('ADAPTER_OFF', `No daemon is running for ${home}. Start it with hermes start.`);
  let response: Response;
  try {
    response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${config.platforms.http.api_key ?? ''}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (thrown) {
    throw new HermesError('ADAPTER_OFF', `The daemon of ${home} does not answer at ${url}: ${toMessage(thrown)}. Is it running? hermes start starts it.`, { cause: thrown });
  }
  const text = await response.text();
  const answer = parse(text);
  if (response.ok || response.status === 503) return answer;
  const { error } = (typeof answer === 'object' && answer !== null ? answer : {}) as { error?: { message?: unknown } };
  throw new HermesError('REQUEST_INVALID', typeof error?.message === 'string' ? error.message : `The daemon answered ${response.status}.`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
