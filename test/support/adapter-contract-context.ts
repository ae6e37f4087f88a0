/** An AdapterContext for tests: state in memory, every log line and report kept, mounted routes at hand. */
import type { AdapterContext, AdapterStatus, MenuCommand, Route, RouteReply } from '../../src/contract/adapter.ts';
import { createLog } from '../../src/lib/log.ts';

export interface TestContext extends AdapterContext {
  /** Log lines as they would reach stderr, with nothing redacted. */
  readonly lines: string[];
  readonly reports: AdapterStatus[];
  readonly routes: Route[];
  readonly stored: Map<string, string>;
  readonly moved: { from: string; to: string }[];
  /** Tokens that are held now. */
  readonly claimed: string[];
  /** Calls a mounted route as the HTTP server would; 404 when there is none. */
  request(method: Route['method'], path: string, init?: { headers?: Record<string, string>; body?: string | Uint8Array }): Promise<RouteReply>;
}

export function createTestContext(options: { home?: string; commands?: MenuCommand[]; stored?: Map<string, string>; isAllowed?: boolean } = {}): TestContext {
  const lines: string[] = [];
  const reports: AdapterStatus[] = [];
  const routes: Route[] = [];
  const claimed: string[] = [];
  const moved: { from: string; to: string }[] = [];
  const stored = options.stored ?? new Map<string, string>();
  return {
    lines,
    reports,
    routes,
    stored,
    moved,
    claimed,
    log: createLog({ level: 'debug', redactor: { add() {}, text: (line) => line }, write: (line) => void lines.push(line) }),
    home: options.home ?? '/nonexistent',
    state: {
      get: async (key) => stored.get(key),
      set: async (key, value) => void stored.set(key, value),
      list: async (prefix) => [...stored].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key, value })),
    },
    commands: () => options.commands ?? [],
    report: (status) => void reports.push(status),
    mount(route) {
      routes.push(route);
      return () => void routes.splice(routes.indexOf(route), routes.includes(route) ? 1 : 0);
    },
    claimToken(token) {
      claimed.push(token);
      return () => void claimed.splice(claimed.indexOf(token), 1);
    },
    isAllowed: () => options.isAllowed ?? true,
    chatMoved: async (from, to) => void moved.push({ from, to }),
    async request(method, path, { headers = {}, body = '' } = {}) {
      const route = routes.find((candidate) => candidate.method === method && candidate.path === path);
      if (!route) return { status: 404 };
      const rawBody = typeof body === 'string' ? new TextEncoder().encode(body) : body;
      return route.handle({ params: {}, query: {}, headers, rawBody, body: parse(rawBody) });
    },
  };
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  } catch {
    return undefined;
  }
}
