import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { builtins } from './kit.ts';

interface Asked {
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

async function service(answer: unknown, status = 200) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    asked.push({ url: request.url ?? '', headers: request.headers, body: await text(request) });
    response.writeHead(status, { 'content-type': 'application/json' }).end(typeof answer === 'string' ? answer : JSON.stringify(answer));
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : 0);
    });
  });
  onTestFinished(() => void server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${port}`, asked };
}

const hit = { title: 'A <strong>stork</strong>', url: 'https://storks.test/', description: 'about', content: 'about', text: 'about' };
const expected = { results: [{ title: 'A stork', url: 'https://storks.test/', description: 'about' }] };
const none = { search: null, searxng_url: null, allow_cidrs: [] };

test('Brave', async () => {
  const { url, asked } = await service({ web: { results: [hit] } });
  const { call } = await builtins({ env: { BRAVE_API_KEY: 'key-b', BRAVE_BASE_URL: url } });
  expect(await call('web_search', { query: 'storks & frogs' })).toMatchObject(expected);
  expect(asked[0]?.url).toBe('/res/v1/web/search?q=storks+%26+frogs&count=5');
  expect(asked[0]?.headers['x-subscription-token']).toBe('key-b');
});

test('Tavily', async () => {
  const { url, asked } = await service({ results: [hit] });
  const { call } = await builtins({ env: { TAVILY_API_KEY: 'key-t', TAVILY_BASE_URL: `${url}/` } });
  expect(await call('web_search', { query: 'storks' })).toMatchObject(expected);
  expect(asked[0]).toMatchObject({ url: '/search', headers: { authorization: 'Bearer key-t' }, body: '{"query":"storks","max_results":5}' });
});

test('Exa', async () => {
  const { url, asked } = await service({ results: [hit] });
  const { call } = await builtins({ env: { EXA_API_KEY: 'key-e', EXA_BASE_URL: url } });
  expect(await call('web_search', { query: 'storks' })).toMatchObject(expected);
  expect(asked[0]).toMatchObject({ url: '/search', headers: { 'x-api-key': 'key-e' } });
});

test('SearXNG, and only five results with an address', async () => {
  const { url, asked } = await service({ results: [{ title: 'no address' }, null, ...Array.from({ length: 9 }, () => hit)] });
  const { call } = await builtins({ web: { ...none, searxng_url: url } });
  expect((await call('web_search', { query: 'storks' }))['results']).toHaveLength(5);
  expect(asked[0]?.url).toBe('/search?q=storks&format=json');
});

test('it is offered only where a service is configured, and web.search names which', async () => {
  const offered = async (web: typeof none | { search: string }, env: Record<string, string>) => {
    const { registry } = await builtins({ env, web: { ...none, ...web } });
    return (await registry.definitions(['web_search'])).definitions.length === 1;
  };
  expect(await offered(none, {})).toBe(false);
  expect(await offered(none, { EXA_API_KEY: 'k' })).toBe(true);
  expect(await offered({ search: 'brave' }, { EXA_API_KEY: 'k' })).toBe(false);
  expect(await offered({ search: 'exa' }, { EXA_API_KEY: 'k' })).toBe(true);
});

test.each([
  [401, /refused the request/],
  [429, /limit/],
  [500, /status 500/],
  [200, /not JSON/],
])('status %i is said without the body, which may hold the key', async (status, message) => {
  const { url } = await service('your key is key-b', status);
  const { call } = await builtins({ env: { BRAVE_API_KEY: 'key-b', BRAVE_BASE_URL: url } });
  const { error } = await call('web_search', { query: 'x' });
  expect(error).toMatch(message);
  expect(error).not.toContain('key-b');
});
