import { createServer, type RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { builtins } from './kit.ts';

async function site(listener: RequestListener) {
  const server = createServer(listener);
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : 0);
    });
  });
  onTestFinished(() => void server.close().closeAllConnections());
  const { call } = await builtins({ web: { search: null, searxng_url: null, allow_cidrs: ['127.0.0.0/8'] } });
  const root = `http://127.0.0.1:${port}`;
  return {
    root,
    async read(...paths: string[]) {
      return (await call('web_extract', { urls: paths.map((path) => root + path) })) as { note: string; results: Record<string, string>[] };
    },
  };
}

const article = `<!doctype html><html><head><title>Storks – News</title><style>p{}</style></head><body><nav>Menu</nav>
<article><h1>Storks are back</h1>${'<p>The storks came back <b>early</b> this year, as they do, said <a href="/who">the ranger</a>, who counts them.</p>'.repeat(8)}
<script>steal()</script></article></body></html>`;

test('a page comes back as Markdown with its title, absolute links and no scripts, marked as untrusted', async () => {
  const { read, root } = await site((_, response) => response.setHeader('content-type', 'text/html; charset=utf-8').end(article));
  const { note, results } = await read('/news');
  expect(note).toMatch(/[Uu]ntrusted/);
  expect(results[0]).toMatchObject({ url: `${root}/news`, title: 'Storks – News' });
  expect(results[0]?.['content']).toContain(`The storks came back **early** this year, as they do, said [the ranger](${root}/who)`);
  expect(results[0]?.['content']).not.toMatch(/steal|Menu/);
});

test('text and JSON pass through, other things are refused, and one bad page spoils no other', async () => {
  const { read } = await site((request, response) => {
    if (request.url === '/t') response.setHeader('content-type', 'text/plain; charset=iso-8859-1').end(Buffer.from('caf\xe9', 'latin1'));
    else if (request.url === '/j') response.setHeader('content-type', 'application/ld+json').end('{"a":"<b>"}');
    else if (request.url === '/p') response.setHeader('content-type', 'application/pdf').end('%PDF');
    else if (request.url === '/z') response.setHeader('content-encoding', 'gzip').setHeader('content-type', 'text/plain').end(gzipSync('unpacked'));
    else response.writeHead(404).end('gone');
  });
  const { results } = await read('/t', '/j', '/p', '/z', '/x');
  expect(results.map(({ content, error }) => content ?? error)).toEqual([
    'café',
    '{"a":"<b>"}',
    'application/pdf cannot be read as text.',
    'unpacked',
    'The server answered with status 404.',
  ]);
});

test('a page without an article still gives its text', async () => {
  const { read } = await site((_, response) => response.setHeader('content-type', 'text/html').end('<p>just <i>this</i>'));
  expect((await read('/')).results[0]?.['content']).toBe('just _this_');
});

test('an endless page is cut at 5 MiB, packed or not', async () => {
  const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, 'a'));
  const { read } = await site((request, response) => {
    response.setHeader('content-type', 'text/plain');
    if (request.url === '/bomb') return void response.setHeader('content-encoding', 'gzip').end(bomb);
    const chunk = Buffer.alloc(64 * 1024, 'b');
    const flood = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', flood).on('error', () => undefined);
    flood();
  });
  const handles = await read('/bomb', '/endless');
  // Two results of 5 MiB are stored: the size says that neither was read on.
  expect((handles as unknown as { size: number }).size).toBeLessThan(11 * 1024 * 1024);
});

test('at most five addresses, and none of this machine without leave', async () => {
  const { call } = await builtins();
  expect(await call('web_extract', { urls: Array.from({ length: 6 }, () => 'http://1.1.1.1/') })).toMatchObject({ error: expect.stringMatching(/more than 5/) });
  expect(await call('web_extract', { urls: ['http://localhost:8642/api/sessions', 'http://169.254.169.254/latest'] })).toMatchObject({
    results: [{ error: expect.stringMatching(/not on the public/) }, { error: expect.stringMatching(/not on the public/) }],
  });
});
