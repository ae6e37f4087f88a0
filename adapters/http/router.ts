/**
 * The table of paths. fastify takes no routes after it listens, but webhooks and the API are mounted whenever their owner is
 * ready, so fastify hands every request to one handler and this table says whose it is.
 */
import { HermesError } from '../../src/contract/errors.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/contract/adapter.ts';

/** Who is behind a request that passed the guard; `none` on open routes and on those that check for themselves. */
export type Caller = 'key' | 'cookie' | 'none';

/** A request as our own routes see it: a mounted Route's view and what only this adapter may touch. */
export interface Call extends RouteRequest {
  caller: Caller;
  /** The address that failed keys are counted for. */
  ip: string;
  /** Answers with server-sent events; the handler then returns null. */
  openStream(headers: Record<string, string>): EventStream;
  /** Aborted when the client has gone or the adapter stops. */
  gone: AbortSignal;
}

export interface EventStream {
  /** Writes bytes of the stream format as they are. A client that does not read is dropped at 1 MiB. */
  write(text: string): void;
  end(): void;
}

export interface Entry {
  method: Route['method'];
  /** Segments: fixed, `:name`, and `*` as the last one for the rest of the path. */
  path: string;
  auth: 'open' | 'key' | 'self';
  /** Bytes; default 1 MiB. */
  maxBody?: number;
  /** Time for the body to arrive, ms; default is the server's. */
  bodyMs?: number;
  /** Null: the answer was given through openStream. */
  handle(call: Call): Promise<RouteReply | null>;
}

export interface Found {
  entry: Entry;
  params: Record<string, string>;
}

export interface RouteTable {
  /** Returns a function that takes the path away again. Throws when the path is taken. */
  add(entry: Entry): () => void;
  find(method: string, pathname: string): Found | null;
}

export function createRouteTable(): RouteTable {
  let rows: { entry: Entry; segments: string[]; rank: string }[] = [];
  return {
    add(entry) {
      const segments = entry.path.split('/');
      const rank = segments.map(toRank).join('');
      if (rows.some((row) => row.entry.method === entry.method && shape(row.segments) === shape(segments)))
        throw new HermesError('CONFIG_INVALID', `${entry.method} ${entry.path} is mounted twice; give one of the two another path`);
      const row = { entry, segments, rank };
      // Fixed segments win over named ones, and those over the rest of the path, whatever the order of mounting.
      rows = [...rows, row].sort((a, b) => (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : 0));
      return () => {
        rows = rows.filter((other) => other !== row);
      };
    },
    find(method, pathname) {
      const parts = pathname.split('/');
      for (const { entry, segments } of rows) {
        if (entry.method !== method && !(method === 'HEAD' && entry.method === 'GET' && entry.auth === 'open')) continue;
        const params = match(segments, parts);
        if (params) return { entry, params };
      }
      return null;
    },
  };
}

function toRank(segment: string): string {
  return segment === '*' ? '2' : segment.startsWith(':') ? '1' : '0';
}

function shape(segments: string[]): string {
  return segments.map((segment) => (segment.startsWith(':') ? ':' : segment)).join('/');
}

function match(segments: string[], parts: string[]): Record<string, string> | null {
  const params: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    if (segment === '*') {
      const rest = decode(parts.slice(index).join('/'));
      return rest === null ? null : { ...params, '*': rest };
    }
    const part = parts[index];
    if (part === undefined) return null;
    if (!segment.startsWith(':')) {
      if (segment !== part) return null;
      continue;
    }
    const value = decode(part);
    if (!value) return null;
    params[segment.slice(1)] = value;
  }
  return parts.length === segments.length ? params : null;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
