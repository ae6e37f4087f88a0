/**
 * The HTTP adapter: the page, the API for OpenAI's clients, and the server on which others mount their paths. It has no send():
 * the answer to a request is read from its turn and goes back on the same connection.
 */
import type { FastifyInstance } from 'fastify';
import type { Adapter, AdapterContext, AdapterStatus, Route } from '../../src/contract/adapter.ts';
import { HermesError, toMessage } from '../../src/contract/errors.ts';
import type { Log } from '../../src/contract/log.ts';
import { createServer } from './api.ts';
import { createCompletions } from './completions.ts';
import { createFailureCount, toHostName } from './guard.ts';
import { readDataUrl } from './inbound.ts';
import { createLogins } from './login.ts';
import { toLoginRoutes } from './login-routes.ts';
import { toPageRoutes } from './page.ts';
import { createRouteTable } from './router.ts';

/** Responses that are ending, and connections without a request yet, get this long when the adapter stops, ms. */
const graceMs = 500;
const maxChatBody = 25 * 1024 * 1024;

export interface HttpListen {
  host: string;
  /** 0 takes a free port. */
  port: number;
  allowed_hosts: readonly string[];
}

export interface HttpDeps {
  /** The bearer key. */
  key: string;
  ready(): { ready: boolean; adapters: Record<string, AdapterStatus> };
  /** Ids that a request may name, the default first. */
  models(): string[];
  /** The folder of the built page. */
  pageDir: string;
  log: Log;
  /** Ms since the epoch; default the system's clock. */
  now?: () => number;
  /** Time for an ordinary body to arrive, ms; default 10,000. */
  bodyMs?: number;
}

export interface HttpAdapter extends Adapter {
  readonly platform: 'http';
  /** Works before and after start. Returns a function that takes the path away. Throws CONFIG_INVALID when the path is taken. */
  mount(route: Route): () => void;
  /** Where the page is, without a slash at the end. */
  url(): string;
  /** A link that logs one browser in, once, within ten minutes. */
  loginLink(): string;
}

export function createHttpAdapter(config: HttpListen, context: AdapterContext, deps: HttpDeps): HttpAdapter {
  const { key, log, now = Date.now, bodyMs = 10_000 } = deps;
  const table = createRouteTable();
  const logins = createLogins(key, context.state, now);
  const failures = createFailureCount(now);
  let app: FastifyInstance | null = null;
  let stopping = new AbortController();
  let unmount: (() => void)[] = [];
  let port = config.port;

  const url = () => `http://${toHostName(config.host)}:${port}`;
  const loginLink = () => `${url()}/login?ticket=${logins.ticket()}`;

  const stop = async () => {
    stopping.abort();
    const closing = app;
    app = null;
    for (const remove of unmount.splice(0)) remove();
    if (!closing) return;
    // A client that does not read would keep its connection, and with it our end, open for ever.
    const timer = setTimeout(() => closing.server.closeAllConnections(), graceMs);
    await closing.close().catch((error: unknown) => log.warn('the HTTP server did not close cleanly', { error: toMessage(error) }));
    clearTimeout(timer);
  };

  return {
    platform: 'http',
    hint: 'You answer over HTTP: to a person at the web page of this gateway, or to a program. Markdown is fine.',

    async start(receive) {
      if (!key) throw new HermesError('CONFIG_INVALID', 'the HTTP API does not start without a key; set platforms.http.api_key (HERMES_API_KEY)');
      if (key.length < 16) log.warn('platforms.http.api_key is short enough to be guessed; remove it and a good one is made at the next start');
      stopping = new AbortController();
      await logins.load();
      const complete = createCompletions({ receive, models: deps.models, state: context.state, now });
      unmount = [
        ...toPageRoutes(deps.pageDir),
        ...toLoginRoutes({ key, logins, failures, loginLink, port: () => port }),
        { method: 'GET', path: '/healthz', auth: 'open', handle: async () => ({ status: 200, body: 'ok' }) } as const,
        {
          method: 'GET',
          path: '/readyz',
          auth: 'key',
          async handle() {
            const state = deps.ready();
            return { status: state.ready ? 200 : 503, body: state };
          },
        } as const,
        {
          method: 'GET',
          path: '/v1/models',
          auth: 'key',
          handle: async () => ({ status: 200, body: { object: 'list', data: deps.models().map((id) => ({ id, object: 'model', created: 0, owned_by: 'hermes' })) } }),
        } as const,
        { method: 'POST', path: '/v1/chat/completions', auth: 'key', maxBody: maxChatBody, bodyMs: 60_000, handle: complete } as const,
      ].map((entry) => table.add(entry));

      app = createServer({ host: config.host, allowedHosts: config.allowed_hosts, key, table, logins, failures, log, bodyMs, port: () => port, stopping: stopping.signal });
      try {
        await app.listen({ host: config.host, port: config.port });
      } catch (error) {
        await stop();
        throw toListenError(error, config);
      }
      const address = app.server.address();
      if (address !== null && typeof address === 'object') port = address.port;
      context.report({ state: 'up', account: url() });
    },

    stop,
    download: async (attachment, maxBytes) => readDataUrl(attachment.ref, maxBytes),
    mount: (route) => table.add(route),
    url,
    loginLink,
  };
}

function toListenError(error: unknown, { host, port }: HttpListen): HermesError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE')
    return new HermesError('ADAPTER_OFF', `port ${port} on ${host} is taken by another program; end it, or set platforms.http.port (HERMES_HTTP_PORT) to a free one`, { cause: error });
  if (code === 'EACCES') return new HermesError('ADAPTER_OFF', `port ${port} needs rights that this user does not have; set platforms.http.port to one above 1023`, { cause: error });
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new HermesError('ADAPTER_OFF', `${host} is no address of this machine; set platforms.http.host to one, e.g. 127.0.0.1`, { cause: error });
  return new HermesError('ADAPTER_OFF', `cannot listen on ${host}:${port}: ${toMessage(error)}`, { cause: error });
}
