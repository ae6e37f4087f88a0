import { connect } from 'node:net';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createRouteTable, type Entry } from '../../../adapters/http/router.ts';
import { maxWaitingBytes } from '../../../adapters/http/sse.ts';
import type { RouteRequest } from '../../../src/contract/adapter.ts';
import { waitFor } from '../../support/wait-for.ts';
import { bearer, chat, startHttp, type ErrorBody } from './support.ts';

test('a mounted path answers at once and is gone when taken away', async () => {
  const { adapter, url } = await startHttp();
  const get = async (path: string) => (await fetch(url + path, { headers: bearer })).status;
  expect(await get('/api/sessions/7')).toBe(404);
  const remove = adapter.mount({ method: 'GET', path: '/api/sessions/:id', auth: 'key', handle: async () => ({ status: 201 }) });
  expect(await get('/api/sessions/7')).toBe(201);
  expect(await get('/api/sessions/7/more')).toBe(404);
  expect(() => adapter.mount({ method: 'GET', path: '/api/sessions/:other', auth: 'key', handle: async () => ({ status: 200 }) })).toThrow('mounted twice');
  remove();
  expect(await get('/api/sessions/7')).toBe(404);
});

test('a handler gets params, query, headers, the bytes as they came and the JSON in them', async () => {
  const { adapter, url } = await startHttp();
  const seen: RouteRequest[] = [];
  adapter.mount({
    method: 'POST',
    path: '/api/echo/:name',
    auth: 'key',
    async handle(request) {
      seen.push(request);
      return { status: 200, headers: { 'x-more': 'yes' }, body: request.body };
    },
  });
  const raw = '{ "b": 1,   "a": "ü" }';
  const answer = await fetch(`${url}/api/echo/a%2Fb%20c?q=1&q=2&empty=`, { method: 'POST', headers: { ...bearer, 'content-type': 'application/json; charset=utf-8', 'X-Signature': 's' }, body: raw });
  expect([answer.headers.get('x-more'), await answer.json()]).toEqual(['yes', { b: 1, a: 'ü' }]);
  const [request] = seen;
  expect(request?.params).toEqual({ name: 'a/b c' });
  expect(request?.query).toEqual({ q: '1', empty: '' });
  expect(request?.headers['x-signature']).toBe('s');
  expect(Buffer.from(request?.rawBody ?? []).toString()).toBe(raw);
  await fetch(`${url}/api/echo/x`, { method: 'POST', headers: bearer, body: 'no json' });
  await fetch(`${url}/api/echo/x`, { method: 'POST', headers: bearer });
  expect(seen.slice(1).map(({ body, rawBody }) => [body, rawBody.length])).toEqual([[undefined, 7], [undefined, 0]]);
});

test('texts are sent as text, and a handler that throws is 500 without its words', async () => {
  const { adapter, url } = await startHttp();
  adapter.mount({ method: 'GET', path: '/metrics', auth: 'key', handle: async () => ({ status: 200, body: 'turns_total 1\n' }) });
  adapter.mount({ method: 'GET', path: '/api/broken', auth: 'key', handle: () => Promise.reject(new Error('the secret detail')) });
  const metrics = await fetch(`${url}/metrics`, { headers: bearer });
  expect([metrics.headers.get('content-type'), await metrics.text()]).toEqual(['text/plain; charset=utf-8', 'turns_total 1\n']);
  const broken = await fetch(`${url}/api/broken`, { headers: bearer });
  const text = await broken.text();
  expect([broken.status, (JSON.parse(text) as ErrorBody).error.code]).toEqual([500, 'internal_error']);
  expect(text).not.toContain('secret detail');
});

test('a route that checks for itself needs no key and no known host, and gets compressed bytes as they are', async () => {
  const { adapter, port } = await startHttp();
  let got: Buffer | null = null;
  adapter.mount({
    method: 'POST',
    path: '/hooks/signed',
    auth: 'self',
    async handle({ rawBody }) {
      got = Buffer.from(rawBody);
      return { status: 202 };
    },
  });
  const bytes = gzipSync('{"a":1}');
  const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', path: '/hooks/signed', headers: { host: 'bot.example', origin: 'https://slack.com', 'content-encoding': 'gzip', 'content-type': 'application/json' } });
  request.end(bytes);
  const [response] = (await once(request, 'response')) as [{ statusCode: number; resume(): void }];
  response.resume();
  expect(response.statusCode).toBe(202);
  expect(got).toEqual(bytes);
});

test('events arrive as they are written, and the writer hears that the reader has gone', async () => {
  const { adapter, url } = await startHttp();
  let left = 0;
  let write: (event: string, data: unknown) => void = () => undefined;
  adapter.mount({
    method: 'GET',
    path: '/api/events',
    auth: 'key',
    handle: async () => ({
      status: 200,
      events(writer) {
        write = writer;
        writer('hello', { a: 1 });
        return () => void (left += 1);
      },
    }),
  });
  const leaving = new AbortController();
  const response = await fetch(`${url}/api/events`, { headers: bearer, signal: leaving.signal });
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const reader = response.body?.getReader();
  const next = async () => Buffer.from((await reader?.read())?.value ?? []).toString();
  expect(await next()).toBe('event: hello\ndata: {"a":1}\n\n');
  write('turn\nid: 1', 'line\nbreak');
  expect(await next()).toBe('event: turn id: 1\ndata: "line\\nbreak"\n\n');
  expect(left).toBe(0);
  leaving.abort();
  await waitFor('the goodbye', () => left === 1);
  write('after', 1);

  const staying = await fetch(`${url}/api/events`, { headers: bearer });
  await adapter.stop();
  expect(left).toBe(2);
  expect(await staying.text()).toBe('event: hello\ndata: {"a":1}\n\n');
});

test('a client that never reads is dropped when 1 MiB waits for it', async () => {
  const { adapter, port } = await startHttp();
  let dropped = false;
  let writeMore: () => void = () => undefined;
  let written = 0;
  adapter.mount({
    method: 'GET',
    path: '/api/events',
    auth: 'key',
    handle: async () => ({
      status: 200,
      events(write) {
        writeMore = () => {
          write('noise', randomBytes(48 * 1024).toString('base64'));
          written += 64 * 1024;
        };
        return () => void (dropped = true);
      },
    }),
  });
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(`GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${bearer.authorization}\r\n\r\n`);
  await waitFor('the client to be dropped', () => {
    writeMore();
    return dropped;
  });
  // The system's own buffers hold a few MiB besides.
  expect(written).toBeGreaterThan(maxWaitingBytes);
  socket.destroy();
});

/** Writes `total` bytes as the body and resolves with the status; the connection stays open, as browsers and most clients keep it. */
function upload(port: number, path: string, total: number, headers: Record<string, string | number>): Promise<number> {
  return new Promise((resolve, reject) => {
    const agent = new Agent({ keepAlive: true });
    const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', path, headers, agent }, (response) => {
      response.resume();
      agent.destroy();
      resolve(response.statusCode ?? 0);
    });
    const chunk = Buffer.alloc(1024 * 1024, 'a');
    let left = total;
    const more = () => {
      while (left > 0 && !request.destroyed) {
        left -= chunk.length;
        if (!request.write(chunk)) return void request.once('drain', more);
      }
      request.end();
    };
    // After the answer the rest of the body does not matter any more.
    request.on('error', reject);
    more();
  });
}

test('100 MB are refused, declared or not, with the key or without, and the memory does not follow', async () => {
  const { adapter, port, url, messages } = await startHttp();
  let handled = 0;
  for (const auth of ['key', 'self'] as const)
    adapter.mount({ method: 'POST', path: `/api/${auth}`, auth, handle: async () => ({ status: 200, body: String((handled += 1)) }) });
  const size = 100 * 1024 * 1024;
  const before = process.memoryUsage().rss;
  for (const framing of [{ 'content-length': size }, { 'transfer-encoding': 'chunked' }]) {
    expect(await upload(port, '/v1/chat/completions', size, { ...framing })).toBe(401);
    expect(await upload(port, '/v1/chat/completions', size, { ...framing, ...bearer })).toBe(413);
    expect(await upload(port, '/api/key', size, { ...framing, ...bearer })).toBe(413);
    expect(await upload(port, '/api/self', size, { ...framing })).toBe(413);
  }
  expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
  expect([handled, messages.length]).toEqual([0, 0]);
  expect(await upload(port, '/api/key', 1024 * 1024, bearer)).toBe(200);
  expect((await chat(url, { messages: [{ role: 'user', content: 'a'.repeat(1024 * 1024 + 1) }] })).status).toBe(413);
});

test('a body that says it is too large is refused before it comes', async () => {
  const { port } = await startHttp();
  const socket = connect(port, '127.0.0.1');
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${bearer.authorization}\r\nContent-Length: 104857600\r\n\r\n`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  expect(first.toString()).toMatch(/^HTTP\/1.1 413 /);
  socket.destroy();
});

test('a gzip bomb is not unpacked', async () => {
  const { url } = await startHttp();
  const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024));
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: { ...bearer, 'content-encoding': 'gzip', 'content-type': 'application/json' }, body: new Uint8Array(bomb) });
  expect(answer.status).toBe(415);
});

test('deep JSON is only a request that cannot be used', async () => {
  const { url } = await startHttp();
  const deep = `{"messages":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: bearer, body: deep });
  expect(answer.status).toBe(400);
});

test('headers over 16 KiB are refused', async () => {
  const { url } = await startHttp();
  const answer = await fetch(`${url}/healthz`, { headers: { 'x-large': 'a'.repeat(20_000) } }).then((response) => response.status, () => 431);
  expect(answer).toBe(431);
});

test('a body that does not arrive in time is given up', async () => {
  const { adapter, port } = await startHttp({ deps: { bodyMs: 50 } });
  adapter.mount({ method: 'POST', path: '/hooks/slow', auth: 'self', handle: async () => ({ status: 200 }) });
  const socket = connect(port, '127.0.0.1');
  socket.write('POST /hooks/slow HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(socket, 'close');
  expect(text).toMatch(/^HTTP\/1.1 408 /);
});

test('fixed paths win over named ones, and those over the rest, in whatever order they came', () => {
  const entry = (path: string): Entry => ({ method: 'GET', path, auth: 'key', handle: async () => ({ status: 200 }) });
  const paths = ['/api/*', '/api/sessions/:id', '/api/sessions/search', '/api/:room/search'];
  for (const order of [paths, paths.toReversed()]) {
    const table = createRouteTable();
    for (const path of order) table.add(entry(path));
    const find = (path: string) => table.find('GET', path)?.entry.path;
    expect(['/api/sessions/search', '/api/sessions/7', '/api/x/search', '/api/x/y/z', '/other', '/api/sessions/%zz'].map(find)).toEqual([
      '/api/sessions/search', '/api/sessions/:id', '/api/:room/search', '/api/*', undefined, undefined,
    ]);
    expect(table.find('GET', '/api/a%20b/c')?.params).toEqual({ '*': 'a b/c' });
    expect(table.find('HEAD', '/api/x')).toBeNull();
  }
});
