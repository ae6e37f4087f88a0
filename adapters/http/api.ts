/**
 * The HTTP server. Every request, of our own paths and of mounted ones, passes the same doors in the same order:
 * path -> Host (421) -> Origin (403) -> key (401, 429) -> size and time of the body (413, 408) -> handler.
 * Routes with auth `self` (signed webhooks, usually behind a proxy with a name of its own) skip the three doors in the middle.
 */
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { RouteReply } from '../../src/contract/adapter.ts';
import { toMessage } from '../../src/contract/errors.ts';
import type { Log } from '../../src/contract/log.ts';
import { toErrorReply, toLimited, type Fault } from './faults.ts';
import { isAllowedHost, isOwnOrigin, isSameSecret, toCanonicalIp, type FailureCount } from './guard.ts';
import { cookieName, readCookie, toCookie, type Logins } from './login.ts';
import { readBody } from './read-body.ts';
import type { Call, Caller, RouteTable } from './router.ts';
import { openEventStream, toEvent } from './sse.ts';

const defaultMaxBody = 1024 * 1024;

const securityHeaders = {
  'content-security-policy': "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

export interface ServerDeps {
  host: string;
  allowedHosts: readonly string[];
  key: string;
  table: RouteTable;
  logins: Logins;
  failures: FailureCount;
  log: Log;
  /** Time for a body to arrive, where the route does not say, ms. */
  bodyMs: number;
  /** The port we listen on, known once we do. */
  port(): number;
  /** Aborted when the adapter stops. */
  stopping: AbortSignal;
}

/** Builds the server; the caller listens and closes. */
export function createServer(deps: ServerDeps): FastifyInstance {
  const app = fastify({
    logger: false,
    // Node's own clocks bound what the body's clock below does not see: slow headers, and bodies that nobody reads.
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 2_000, maxHeaderSize: 16 * 1024 },
    requestTimeout: 60_000,
    keepAliveTimeout: 20_000,
    exposeHeadRoutes: false,
    frameworkErrors: (_error, _request, reply) => void send(reply, toErrorReply(badRequest('The address of the request cannot be read.'))),
  });
  app.removeAllContentTypeParsers();
  // Bodies are read below, after the doors: nothing of a stranger's body is kept.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.setErrorHandler((error, _request, reply) => {
    deps.log.error('a request failed', { error: toMessage(error) });
    return send(reply, toErrorReply({ status: 500, code: 'internal_error', message: 'The request failed inside the gateway; its log says why.', final: true }));
  });
  app.setNotFoundHandler((_request, reply) => send(reply, toErrorReply({ status: 405, code: 'method_not_allowed', message: 'This method is not served.' })));
  app.route({
    method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    url: '/*',
    handler: (request, reply) => serve(deps, request, reply),
  });
  return app;
}

async function serve(deps: ServerDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const pathname = request.raw.url?.split('?', 1)[0] ?? '';
  const found = deps.table.find(request.method, pathname);
  // What is not there needs no key: a platform's webhook without a secret is simply not mounted. Of the API not even that is told.
  const auth = found?.entry.auth ?? (/^\/(api|v1)(\/|$)/.test(pathname) ? 'key' : 'open');

  const answer = auth === 'self' ? { caller: 'none' as const } : enter(deps, request, auth);
  if ('status' in answer) {
    // A cookie that is no longer good is taken back, so that the browser does not go on failing with it.
    const stale = answer.status === 401 && readCookie(request.headers.cookie, cookieName(deps.port())) !== null;
    return send(reply, toErrorReply(answer, stale ? { 'set-cookie': toCookie(deps.port(), null) } : {}));
  }
  if (!found) return send(reply, toErrorReply({ status: 404, code: 'not_found', message: `There is no ${request.method} ${pathname.slice(0, 200)}.` }));

  const { entry, params } = found;
  const limit = entry.maxBody ?? defaultMaxBody;
  const tooLarge: Fault = { status: 413, code: 'body_too_large', message: `The body may have ${limit} bytes here.` };
  if (Number(request.headers['content-length'] ?? 0) > limit) return send(reply, toErrorReply(tooLarge));
  if (auth !== 'self' && (request.headers['content-encoding'] ?? 'identity') !== 'identity')
    return send(reply, toErrorReply({ status: 415, code: 'encoding_not_supported', message: 'Send the body without Content-Encoding.' }));
  const read = await readBody(request.raw, limit, entry.bodyMs ?? deps.bodyMs);
  if (!read.ok) {
    if (read.why === 'too_large') return send(reply, toErrorReply(tooLarge));
    return send(reply, toErrorReply({ status: 408, code: 'body_too_slow', message: 'The body did not arrive in time.' }, { connection: 'close' }));
  }
  return await answerTo(deps, request, reply, entry.handle, toCall(request, reply, deps.stopping, read.bytes, params, answer.caller));
}

/** The three doors; says who came in, or why not. */
function enter(deps: ServerDeps, request: FastifyRequest, auth: 'open' | 'key'): { caller: Caller } | Fault {
  const { host, origin, authorization, cookie } = request.headers;
  if (!request.raw.url?.startsWith('/') || (request.raw.headersDistinct['host']?.length ?? 0) > 1) return badRequest('The request names two hosts.');
  if (!isAllowedHost(host, deps.host, deps.allowedHosts))
    return { status: 421, code: 'host_not_allowed', message: 'This gateway does not answer to that host name; add it to platforms.http.allowed_hosts if it is yours.' };
  if (origin !== undefined && !isOwnOrigin(origin, host, deps.allowedHosts))
    return { status: 403, code: 'origin_not_allowed', message: 'Pages of other origins may not call this gateway.' };
  if (auth === 'open') return { caller: 'none' };

  const secret = readCookie(cookie, cookieName(deps.port()));
  const ip = toCanonicalIp(request.ip);
  if (authorization === undefined && secret !== null && deps.logins.isLoggedIn(secret)) {
    // SameSite lets pages on other ports of this host send the cookie; an unsafe request must come from our own page.
    const site = request.headers['sec-fetch-site'];
    const safe = request.method === 'GET' || request.method === 'HEAD';
    const own = site === undefined ? safe || origin !== undefined : site === 'same-origin' || (safe && site === 'none');
    return own ? { caller: 'cookie' } : { status: 403, code: 'origin_not_allowed', message: 'The cookie is good for requests of the page alone; send the key.' };
  }
  const fault: Fault = { status: 401, code: 'invalid_api_key', message: 'Send the key as Authorization: Bearer KEY; it is in the .env file of the home folder.' };
  if (authorization === undefined && secret === null) return fault;
  const waitS = deps.failures.waitS(ip);
  if (waitS > 0) return toLimited(waitS);
  const given = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  if (given !== undefined && isSameSecret(given, deps.key)) return { caller: 'key' };
  deps.failures.failed(ip);
  return fault;
}

function toCall(request: FastifyRequest, reply: FastifyReply, stopping: AbortSignal, rawBody: Buffer, params: Record<string, string>, caller: Caller): Call {
  const left = new AbortController();
  const leave = () => {
    stopping.removeEventListener('abort', leave);
    left.abort();
  };
  reply.raw.once('close', leave);
  stopping.addEventListener('abort', leave, { once: true });
  let parsed: { value: unknown } | null = null;
  return {
    params,
    query: toSingles(request.query as Record<string, unknown>),
    headers: toSingles(request.headers) as Record<string, string | undefined>,
    rawBody,
    // Parsed when first asked for: a webhook checks its signature over the bytes before it.
    get body() {
      parsed ??= { value: parseJson(rawBody) };
      return parsed.value;
    },
    caller,
    ip: toCanonicalIp(request.ip),
    gone: left.signal,
    openStream(headers) {
      reply.hijack();
      return openEventStream(reply.raw, { ...securityHeaders, ...headers });
    },
  };
}

async function answerTo(deps: ServerDeps, request: FastifyRequest, reply: FastifyReply, handle: (call: Call) => Promise<RouteReply | null>, call: Call): Promise<FastifyReply> {
  const answer = await handle(call);
  if (answer === null) return reply;
  if (!answer.events) return send(reply, answer);
  const stream = call.openStream(answer.headers ?? {});
  const keepAlive = setInterval(() => stream.write(': still here\n\n'), 15_000);
  let leave: (() => void) | null = null;
  const end = () => {
    clearInterval(keepAlive);
    stream.end();
    try {
      leave?.();
    } catch (error) {
      deps.log.error('a stream did not end cleanly', { path: request.raw.url, error: toMessage(error) });
    }
  };
  try {
    leave = answer.events((event, data) => stream.write(toEvent(event, data)));
  } catch (error) {
    deps.log.error('a stream could not begin', { path: request.raw.url, error: toMessage(error) });
    end();
    return reply;
  }
  if (call.gone.aborted) end();
  else call.gone.addEventListener('abort', end, { once: true });
  return reply;
}

function send(reply: FastifyReply, { status, headers = {}, body }: RouteReply): FastifyReply {
  reply.code(status).headers({ 'cache-control': 'no-store', ...securityHeaders, ...headers });
  if (body === undefined || body === null) return reply.send();
  if (typeof body === 'string' || body instanceof Uint8Array) {
    if (!reply.hasHeader('content-type')) reply.type(typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/octet-stream');
    return reply.send(body);
  }
  if (!reply.hasHeader('content-type')) reply.type('application/json; charset=utf-8');
  return reply.send(JSON.stringify(body));
}

function badRequest(message: string): Fault {
  return { status: 400, code: 'REQUEST_INVALID', message };
}

function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

/** Of repeated fields the first counts. */
function toSingles(fields: Record<string, unknown>): Record<string, string> {
  const singles: Record<string, string> = {};
  for (const [name, value] of Object.entries(fields)) {
    const first: unknown = Array.isArray(value) ? value[0] : value;
    if (typeof first === 'string') singles[name] = first;
  }
  return singles;
}
