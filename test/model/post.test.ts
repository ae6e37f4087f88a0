/** The exchange under the model calls: what providers rely on and no chat completion shows. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { createPost, type PostAnswer } from '../../src/model/post.ts';

async function serve(listener: RequestListener): Promise<{ url: string; connections(): number }> {
  let connections = 0;
  const server = createServer(listener).on('connection', () => void connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, connections: () => connections };
}

const never = () => new AbortController().signal;
const ask = (signal = never()) => ({ headers: { 'content-type': 'application/json' }, body: '{"text":"grüße"}', signal });

async function read({ body }: PostAnswer): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const bytes of body) pieces.push(bytes);
  return Buffer.concat(pieces).toString();
}

test('the body arrives whole, the answer comes with its status and headers, and the connection is used again', async () => {
  const server = await serve(async (request, response) => {
    const body = await new Response(request as unknown as ReadableStream).text();
    response.writeHead(201, { 'retry-after': '3' }).end(`${request.method} ${request.headers['content-type']} ${body}`);
  });
  const post = createPost();
  for (let time = 0; time < 3; time++) {
    const answer = await post(server.url, ask());
    expect(answer.status).toBe(201);
    expect(answer.headers.get('retry-after')).toBe('3');
    expect(await read(answer)).toBe('POST application/json {"text":"grüße"}');
  }
  // To close what has come whole costs no connection.
  const last = await post(server.url, ask());
  await read(last);
  last.close();
  await read(await post(server.url, ask()));
  expect(server.connections()).toBe(1);
});

test.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
])('a body that comes as %s although nobody asked is read', async (encoding, compress) => {
  const server = await serve((request, response) => {
    expect(request.headers['accept-encoding']).toBe('identity');
    response.writeHead(200, { 'content-encoding': encoding }).end(compress('the answer'));
  });
  expect(await read(await createPost()(server.url, ask()))).toBe('the answer');
});

test('given up before, during and after the answer: whoever waits is told, and nothing breaks for whoever does not', async () => {
  const server = await serve((request, response) => {
    if (request.url === '/v1/silent') return;
    response.writeHead(200);
    response.write('a beginning');
  });
  const post = createPost();
  await expect(post(server.url, ask(AbortSignal.abort()))).rejects.toThrow('given up');
  const early = new AbortController();
  const unanswered = post(`${server.url}/silent`, ask(early.signal));
  early.abort();
  await expect(unanswered).rejects.toThrow('given up');
  const late = new AbortController();
  const answer = await post(server.url, ask(late.signal));
  const reading = read(answer);
  late.abort();
  await expect(reading).rejects.toThrow();
  // A body that nobody reads breaks as well, and nobody hears of it.
  const unread = new AbortController();
  (await post(server.url, ask())).close();
  await post(server.url, ask(unread.signal));
  unread.abort();
});
