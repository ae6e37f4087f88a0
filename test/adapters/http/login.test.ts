import { createServer } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, key, memoryState, startHttp } from './support.ts';

const open = (link: string) => fetch(link, { redirect: 'manual' });
const models = (url: string, cookie: string) => fetch(`${url}/v1/models`, { headers: { cookie, 'sec-fetch-site': 'same-origin' } });
const cookieOf = (response: Response) => response.headers.get('set-cookie')?.split(';')[0] ?? '';

test('the printed link logs one browser in, once', async () => {
  const { adapter, url, port } = await startHttp();
  const link = adapter.loginLink();
  expect(link).toMatch(new RegExp(`^${url}/login\\?ticket=[\\w-]{43}$`));
  expect(link).not.toContain(key);
  const first = await open(link);
  expect([first.status, first.headers.get('location')]).toEqual([303, '/']);
  expect(first.headers.get('set-cookie')).toMatch(new RegExp(`^hermes_${port}=[\\w-]{43}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict$`));
  expect((await models(url, cookieOf(first))).status).toBe(200);
  const second = await open(link);
  expect([second.headers.get('location'), second.headers.get('set-cookie')]).toEqual(['/#link-used', null]);
});

test('of ten at once with one link, one gets in', async () => {
  const { adapter } = await startHttp();
  const link = adapter.loginLink();
  const answers = await Promise.all(Array.from({ length: 10 }, () => open(link)));
  expect(answers.filter((answer) => answer.headers.has('set-cookie'))).toHaveLength(1);
});

test('a link is good for ten minutes; the key gets a new one', async () => {
  let now = 1_000_000;
  const { adapter, url } = await startHttp({ deps: { now: () => now } });
  const old = adapter.loginLink();
  now += 10 * 60_000;
  expect((await open(old)).headers.has('set-cookie')).toBe(false);
  const answer = await fetch(`${url}/api/login-link`, { method: 'POST', headers: bearer });
  const { url: fresh } = (await answer.json()) as { url: string };
  expect((await open(fresh)).headers.has('set-cookie')).toBe(true);
});

test('the cookie outlives a restart, is kept as a hash alone, and dies with the key, the month or a logout', async () => {
  let now = 1_000_000;
  const rows = new Map<string, string>();
  const options = { deps: { now: () => now }, state: memoryState(rows) };
  const first = await startHttp(options);
  const cookie = cookieOf(await open(first.adapter.loginLink()));
  const other = cookieOf(await open(first.adapter.loginLink()));
  const secret = cookie.split('=')[1] ?? '?';
  expect(JSON.stringify([...rows])).not.toContain(secret);
  await first.adapter.stop();

  const { url, port } = await startHttp(options);
  const again = `hermes_${port}=${secret}`;
  expect((await models(url, again)).status).toBe(200);
  const forged = await models(url, `hermes_${port}=${'A'.repeat(43)}`);
  expect([forged.status, forged.headers.get('set-cookie')]).toEqual([401, `hermes_${port}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict`]);

  const rekeyed = await startHttp({ ...options, deps: { ...options.deps, key: 'another-key-of-good-length' } });
  expect((await models(rekeyed.url, `hermes_${rekeyed.port}=${secret}`)).status).toBe(401);

  const goodbye = await fetch(`${url}/logout`, { method: 'POST', headers: { cookie: again, origin: url } });
  expect(goodbye.status).toBe(204);
  expect((await models(url, again)).status).toBe(401);
  const otherAgain = `hermes_${port}=${other.split('=')[1]}`;
  expect((await models(url, otherAgain)).status).toBe(200);
  now += 30 * 24 * 3_600_000;
  expect((await models(url, otherAgain)).status).toBe(401);
});

test('the key logs in too, from our own page alone', async () => {
  const { url } = await startHttp();
  const login = (body: unknown, origin: string) =>
    fetch(`${url}/login`, { method: 'POST', headers: { 'content-type': 'application/json', origin }, body: JSON.stringify(body) });
  expect((await login({ key }, 'http://evil.example')).status).toBe(403);
  for (const body of [{ key: 'wrong' }, {}, { key: 7 }, null]) expect((await login(body, url)).status).toBe(401);
  const answer = await login({ key }, url);
  expect(answer.status).toBe(204);
  expect((await models(url, cookieOf(answer))).status).toBe(200);
});

test('a state that cannot be read logs out, and the adapter starts', async () => {
  for (const text of ['{', '7', '[1,null,{"hash":1}]']) {
    const { adapter, url } = await startHttp({ state: memoryState(new Map([['logins', text]])) });
    expect((await models(url, cookieOf(await open(adapter.loginLink())))).status).toBe(200);
  }
});

test('a port that is taken is named with what to do', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const address = other.address();
  const port = typeof address === 'object' ? address?.port : 0;
  await expect(startHttp({ config: { port: port ?? 0 } })).rejects.toThrow(`port ${port} on 127.0.0.1 is taken by another program`);
  await expect(startHttp({ config: { host: '203.0.113.7' } })).rejects.toThrow('no address of this machine');
  await expect(startHttp({ deps: { key: '' } })).rejects.toThrow('without a key');
});

test('stop may come before start, twice, and start again after it', async () => {
  const { adapter, url } = await startHttp();
  await adapter.stop();
  await adapter.stop();
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  await adapter.start(async () => ({ status: 'refused', reason: 'unsupported' }));
  expect(await (await fetch(`${adapter.url()}/healthz`)).text()).toBe('ok');
});
