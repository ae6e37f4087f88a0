import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { isAllowedHost, isOwnOrigin, toCanonicalIp } from '../../../adapters/http/guard.ts';
import { bearer, collect, key, startHttp, type ErrorBody, type Started } from './support.ts';

interface Asked {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** A raw request: fetch would not let us lie about Host and Origin. */
function ask({ port }: Started, { method = 'GET', path, headers = {}, body }: Asked): Promise<{ status: number; headers: Record<string, unknown>; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** Bytes of our own making, and all that comes back. */
async function raw({ port }: Started, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.end(text);
  const chunks = await collect<Buffer>(socket);
  return Buffer.concat(chunks).toString();
}

/** A cookie, by way of the login link. */
async function logIn({ adapter }: Started): Promise<string> {
  const response = await fetch(adapter.loginLink(), { redirect: 'manual' });
  return response.headers.get('set-cookie')?.split(';')[0] ?? '';
}

const chatBody = JSON.stringify({ messages: [{ role: 'user', content: 'x' }] });
const routes: Asked[] = [
  { path: '/readyz' },
  { path: '/v1/models' },
  { method: 'POST', path: '/v1/chat/completions', body: chatBody },
  { method: 'POST', path: '/api/login-link' },
  { method: 'POST', path: '/logout' },
  { path: '/api/things/7' },
  { method: 'DELETE', path: '/api/things/7' },
  { path: '/api/no-such-thing' },
  { method: 'POST', path: '/api/no-such-thing' },
  { method: 'OPTIONS', path: '/v1/chat/completions' },
];

async function startWithMounted(): Promise<Started & { handled: string[] }> {
  const started = await startHttp({ config: { allowed_hosts: ['hermes.example', 'proxy.example:8443'] } });
  const handled: string[] = [];
  for (const method of ['GET', 'DELETE'] as const)
    started.adapter.mount({
      method,
      path: '/api/things/:id',
      auth: 'key',
      handle: async ({ params }) => {
        handled.push(`${method} ${params['id']}`);
        return { status: 200, body: { id: params['id'] } };
      },
    });
  return { ...started, handled };
}

test('without a key: /healthz and the page, and nothing else, whatever the claim', async () => {
  const started = await startWithMounted();
  expect(await ask(started, { path: '/healthz' })).toMatchObject({ status: 200, text: 'ok' });
  expect((await ask(started, { method: 'HEAD', path: '/healthz' })).status).toBe(200);
  expect((await ask(started, { path: '/' })).status).toBe(200);
  // Outside of the API a path that is not there is simply not there, such as the webhook of a platform without a secret.
  for (const path of ['/no-such-page', '/slack/events', '/webhooks/telegram/7']) expect((await ask(started, { method: 'POST', path, body: '{}' })).status, path).toBe(404);
  for (const route of routes)
    for (const headers of [{}, { 'x-hermes-session-id': 'mine' }, { 'x-forwarded-for': '127.0.0.1' }, { cookie: 'other=1' }])
      expect((await ask(started, { ...route, headers })).status, `${route.method} ${route.path} ${JSON.stringify(headers)}`).toBe(401);
  expect(started.messages).toEqual([]);
  expect(started.handled).toEqual([]);
});

test('with the key every route answers, and what does not exist is 404', async () => {
  const started = await startWithMounted();
  const statuses = [];
  for (const route of routes) statuses.push((await ask(started, { ...route, headers: bearer })).status);
  expect(statuses).toEqual([200, 200, 200, 200, 204, 200, 200, 404, 404, 404]);
  expect(started.handled).toEqual(['GET 7', 'DELETE 7']);
  expect(JSON.parse((await ask(started, { path: '/api/no-such-thing', headers: bearer })).text)).toMatchObject({ error: { code: 'not_found' } });
});

test('readyz is 503 while an adapter starts', async () => {
  const started = await startHttp({ deps: { ready: () => ({ ready: false, adapters: { telegram: { state: 'starting' } } }) } });
  const answer = await ask(started, { path: '/readyz', headers: bearer });
  expect([answer.status, JSON.parse(answer.text)]).toEqual([503, { ready: false, adapters: { telegram: { state: 'starting' } } }]);
});

/** PORT stands for the port we listen on. */
const hostTable: [host: string, origin: string | null, expected: number][] = [
  ['127.0.0.1:PORT', null, 200],
  ['127.0.0.1', null, 200],
  ['localhost:PORT', null, 200],
  ['LOCALHOST:PORT', null, 200],
  ['localhost:9999', null, 200],
  ['[::1]:PORT', null, 200],
  ['hermes.example', null, 200],
  ['hermes.example:8443', null, 200],
  ['proxy.example:8443', null, 200],
  ['127.0.0.1:PORT', 'http://127.0.0.1:PORT', 200],
  ['localhost:PORT', 'http://localhost:PORT', 200],
  ['hermes.example', 'https://hermes.example', 200],
  ['127.0.0.1:PORT', 'https://hermes.example', 200],
  ['127.0.0.1:PORT', 'https://proxy.example:8443', 200],
  ['proxy.example', null, 421],
  ['proxy.example:1', null, 421],
  ['evil.example', null, 421],
  ['evil.example:PORT', 'http://evil.example:PORT', 421],
  ['localhost.evil.example', null, 421],
  ['127.0.0.1.evil.example', null, 421],
  ['evil-localhost', null, 421],
  ['localhost@evil.example', null, 421],
  ['127.1', null, 421],
  ['2130706433', null, 421],
  ['0.0.0.0', null, 421],
  ['[::ffff:127.0.0.1]', null, 421],
  ['127.0.0.1:PORT', 'http://evil.example', 403],
  ['127.0.0.1:PORT', 'null', 403],
  ['127.0.0.1:PORT', 'http://localhost:PORT', 403],
  ['127.0.0.1:PORT', 'http://127.0.0.1:3000', 403],
  ['127.0.0.1:PORT', 'http://127.0.0.1', 403],
  ['127.0.0.1:PORT', 'https://hermes.example:3000', 403],
  ['127.0.0.1:PORT', 'http://127.0.0.1:PORT@evil.example', 403],
  ['127.0.0.1:PORT', 'file://', 403],
  ['127.0.0.1:PORT', 'http://127.0.0.1:PORT/', 403],
];

test('the table of Host and Origin, with the key and on every route alike', async () => {
  const started = await startWithMounted();
  const open: Asked[] = [{ path: '/healthz' }, { path: '/' }];
  for (const [host, origin, expected] of hostTable) {
    const headers = { ...bearer, host: host.replace('PORT', String(started.port)), ...(origin === null ? {} : { origin: origin.replace('PORT', String(started.port)) }) };
    for (const route of [...open, ...routes]) {
      const { status } = await ask(started, { ...route, headers });
      const passed = status !== 421 && status !== 403;
      expect(expected === 200 ? passed : status, `${route.path} ${host} ${origin}`).toBe(expected === 200 ? true : expected);
    }
  }
});

test('two Hosts, a whole address or a broken one are no request', async () => {
  const started = await startHttp();
  const lines = (...head: string[]) => head.concat('Connection: close', '', '').join('\r\n');
  expect(await raw(started, lines('GET /healthz HTTP/1.1', 'Host: 127.0.0.1', 'Host: evil.example'))).toMatch(/^HTTP\/1.1 400 /);
  expect(await raw(started, lines('GET /healthz HTTP/1.1', 'Host: 127.0.0.1', 'Host: 127.0.0.1'))).toMatch(/^HTTP\/1.1 400 /);
  expect(await raw(started, lines('GET /healthz HTTP/1.1', 'Host:'))).toMatch(/^HTTP\/1.1 421 /);
  expect(await raw(started, lines('GET /healthz HTTP/1.0'))).toMatch(/^HTTP\/1.1 421 /);
  expect(await raw(started, lines('GET /healthz HTTP/1.1'))).toMatch(/^HTTP\/1.1 400 /);
  expect(await raw(started, lines('GET /healthz HTTP/1.1', 'Host: 127.0.0.1'))).toMatch(/^HTTP\/1.1 200 /);
  expect((await ask(started, { path: 'http://127.0.0.1/healthz', headers: bearer })).status).toBeGreaterThanOrEqual(400);
  expect((await ask(started, { path: '/%zz', headers: bearer })).status).toBe(400);
});

test('a request that asks for an upgrade passes the same doors', async () => {
  const started = await startHttp();
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' };
  expect((await ask(started, { path: '/v1/models', headers: { ...upgrade, host: 'evil.example' } })).status).toBe(421);
  expect((await ask(started, { path: '/v1/models', headers: { ...upgrade, ...bearer, origin: 'http://evil.example' } })).status).toBe(403);
  expect((await ask(started, { path: '/v1/models', headers: upgrade })).status).toBe(401);
});

test('the cookie is good for our own page and no other', async () => {
  const started = await startWithMounted();
  const cookie = await logIn(started);
  const own = `http://127.0.0.1:${started.port}`;
  const post = (headers: Record<string, string>) => ask(started, { method: 'POST', path: '/v1/chat/completions', body: chatBody, headers: { cookie, ...headers } });
  const get = (headers: Record<string, string>) => ask(started, { path: '/v1/models', headers: { cookie, ...headers } });
  expect((await post({ origin: own })).status).toBe(200);
  expect((await post({ origin: own, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
  expect((await post({ 'sec-fetch-site': 'same-origin' })).status).toBe(200);
  expect((await get({})).status).toBe(200);
  expect((await get({ 'sec-fetch-site': 'same-origin' })).status).toBe(200);
  expect(started.messages.map(({ sender, interactive }) => [sender.id, interactive])).toEqual([['page', true], ['page', true], ['page', true]]);

  expect((await post({})).status).toBe(403);
  expect((await post({ 'sec-fetch-site': 'none' })).status).toBe(403);
  expect((await post({ 'sec-fetch-site': 'same-site' })).status).toBe(403);
  expect((await post({ origin: 'http://127.0.0.1:3000' })).status).toBe(403);
  expect((await get({ 'sec-fetch-site': 'same-site' })).status).toBe(403);
  expect((await get({ 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  expect(started.messages).toHaveLength(3);
});

test('wrong keys of every form and length are 401', async () => {
  const wrong = ['', 'Bearer', 'Bearer ', 'Basic eDp5', `bearer${key}`, `Bearer ${key}x`, `Bearer ${key.slice(0, -1)}`, `Bearer ${key.toUpperCase()}`, 'Bearer junk'];
  const started = await startHttp();
  for (const authorization of wrong) {
    const answer = await ask(started, { path: '/v1/models', headers: { authorization } });
    expect(answer.status, authorization).toBe(401);
    expect(answer.text).not.toContain(key);
  }
});

test('guessing stops after ten tries, for the right key too, until the minute is over; a cookie stays good', async () => {
  let now = 1_000_000;
  const started = await startHttp({ deps: { now: () => now } });
  const cookie = await logIn(started);
  const guess = async (authorization: string) => (await ask(started, { path: '/v1/models', headers: { authorization } })).status;
  for (let index = 0; index < 10; index += 1) expect(await guess(`Bearer guess-${index}`)).toBe(401);
  expect(await guess('Bearer guess-10')).toBe(429);
  expect(await guess(`Bearer ${key}`)).toBe(429);
  const limited = await ask(started, { path: '/v1/models', headers: bearer });
  expect(limited.headers['retry-after']).toBe('60');
  expect((JSON.parse(limited.text) as ErrorBody).error.type).toBe('rate_limit_error');
  expect((await ask(started, { method: 'POST', path: '/login', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ key }) })).status).toBe(429);
  expect((await ask(started, { path: '/v1/models', headers: { cookie } })).status).toBe(200);
  expect((await ask(started, { path: '/healthz' })).status).toBe(200);
  now += 60_000;
  expect(await guess(`Bearer ${key}`)).toBe(200);
});

test('requests without any key are no guesses', async () => {
  const started = await startHttp();
  for (let index = 0; index < 20; index += 1) expect((await ask(started, { path: '/v1/models' })).status).toBe(401);
  expect((await ask(started, { path: '/v1/models', headers: bearer })).status).toBe(200);
});

test('every answer carries the security headers and none opens the door to other origins', async () => {
  const started = await startWithMounted();
  for (const route of [{ path: '/healthz' }, { path: '/' }, { path: '/style.css' }, ...routes]) {
    const { headers } = await ask(started, { ...route, headers: bearer });
    expect(headers['content-security-policy'], route.path).toContain("default-src 'self'");
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
  }
});

test('a host that is bound by name is allowed, a wildcard is not', () => {
  expect(isAllowedHost('192.168.1.5:8642', '192.168.1.5', [])).toBe(true);
  expect(isAllowedHost('[fe80::1]:8642', 'fe80::1', [])).toBe(true);
  expect(isAllowedHost('192.168.1.5:8642', '0.0.0.0', [])).toBe(false);
  expect(isAllowedHost('0.0.0.0:8642', '0.0.0.0', [])).toBe(false);
  expect(isAllowedHost('[::]', '::', [])).toBe(false);
  expect(isAllowedHost(undefined, '127.0.0.1', [])).toBe(false);
  expect(isOwnOrigin('https://hermes.example', 'hermes.example', [])).toBe(true);
  expect(isOwnOrigin('https://hermes.example', undefined, [])).toBe(false);
});

test('one caller on two kinds of socket is one caller', () => {
  expect(toCanonicalIp('::ffff:1.2.3.4')).toBe('1.2.3.4');
  expect(toCanonicalIp('1.2.3.4')).toBe('1.2.3.4');
  expect(toCanonicalIp('FE80::1%eth0')).toBe('fe80::1');
});
