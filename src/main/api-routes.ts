/** `/api/*` and `/metrics`: what the other commands, the page and a monitor ask of the running daemon. All behind the key. */
import type { AdapterStatus, Route, RouteReply, RouteRequest } from '../contract/adapter.ts';
import { HermesError, toMessage } from '../contract/errors.ts';
import { toOutboxFacts, toSessionFacts, toToolFacts } from './facts.ts';
import type { Core } from './core.ts';
import { toPairingRoutes } from './pairing-routes.ts';

const maxRows = 200;

export function toApiRoutes(core: Core, statuses: () => Record<string, AdapterStatus>): Route[] {
  const { store, delivery, notices, plugins } = core;
  const get = (path: string, answer: (request: RouteRequest) => Promise<unknown> | unknown): Route => ({
    method: 'GET',
    path,
    auth: 'key',
    handle: async (request) => ({ status: 200, body: await answer(request) }),
  });

  return [
    ...toPairingRoutes(core),
    {
      method: 'GET',
      path: '/metrics',
      auth: 'key',
      handle: async () => ({
        status: 200,
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
        body: core.metrics.text({ runningTurns: core.running.all().length, outbox: store.outbox.backlog(), adapters: statuses() }),
      }),
    },
    get('/api/plugins', () => plugins.facts()),
    get('/api/hooks', () => core.hooks.timings()),
    get('/api/tools', ({ query }) => toToolFacts(core, query['platform'] ?? 'http')),
    get('/api/sessions', ({ query }) => toSessionFacts(store, maxRows, query['search'])),
    get('/api/outbox', () => toOutboxFacts(store, maxRows)),
    ...(['retry', 'drop'] as const).map(
      (verb): Route => ({
        method: 'POST',
        path: `/api/outbox/:id/${verb}`,
        auth: 'key',
        async handle({ params }) {
          const part = await store.outbox[verb](Number(params['id']), Date.now());
          if (!part) return { status: 404, body: { error: { message: `There is no failed part ${params['id']}.`, code: 'REQUEST_INVALID' } } };
          const { platform, chat } = part.payload.address;
          delivery.kick(platform, chat);
          return { status: 200, body: { id: part.id } };
        },
      }),
    ),
    {
      method: 'POST',
      path: '/api/send',
      auth: 'key',
      handle: ({ body }) => send(body),
    },
  ];

  async function send(body: unknown): Promise<RouteReply> {
    const { to, text } = (typeof body === 'object' && body !== null ? body : {}) as { to?: unknown; text?: unknown };
    if (typeof to !== 'string' || typeof text !== 'string' || text.trim() === '')
      return { status: 400, body: { error: { message: 'Give `to` (PLATFORM:CHAT[:THREAD]) and `text`.', code: 'REQUEST_INVALID' } } };
    try {
      await notices.send(to, text, { kind: 'command', name: 'send' });
      return { status: 202, body: { status: 'kept' } };
    } catch (thrown) {
      if (!(thrown instanceof HermesError) || thrown.code === 'STORE_UNAVAILABLE') throw thrown;
      return { status: 400, body: { error: { message: toMessage(thrown), code: thrown.code } } };
    }
  }
}
