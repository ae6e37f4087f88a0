import { createServer, type RequestListener, type Server } from 'node:http';
import type { LookupAddress } from 'node:dns';
import { BlockList } from 'node:net';
import * as fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fetchPublic, lookupAll } from '../../src/tools/fetch-public.ts';
import { createGuard, isPublic } from '../../src/tools/ssrf.ts';

const forbiddenHosts = [
  '127.0.0.1', '127.1', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '017700000001', '127.0.0.1.', '127.255.255.254',
  '１２７.０.０.１', '127。0。0。1', '①②⑦.⓪.⓪.①', '%31%32%37.0.0.1', 'localhost', 'localhost.', 'LOCALHOST', '0.0.0.0', '0', '0.1.2.3',
  '[::]', '[::1]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[::7f00:1]', '[::ffff:0:7f00:1]',
  '[64:ff9b::7f00:1]', '[64:ff9b::10.0.0.1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2002:a00:1::1]', '[2001::1]', '[2001:db8::1]',
  '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.169.254', '100.64.0.1', '100.127.255.255', '192.0.0.1', '198.18.0.1',
  '198.19.255.255', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255', '[fe80::1]', '[febf::1]', '[fc00::1]', '[fd00:ec2::254]',
  '[fec0::1]', '[ff02::1]', '[100::1]', '[4000::1]',
];

// Whether `localhost.` is a name at all differs between systems.
const refused = /not on the public internet|is no URL|host localhost\. cannot be found/;

const legalHosts = [
  '1.1.1.1', '8.8.8.8', '11.0.0.1', '100.63.255.255', '100.128.0.1', '126.255.255.255', '128.0.0.1', '169.253.255.255', '172.15.255.255',
  '172.32.0.1', '192.167.255.255', '192.169.0.1', '198.17.255.255', '198.20.0.1', '223.255.255.254', '0x08080808', '[2606:4700::1111]',
  '[2a00:1450:4001::1]', '[64:ff9b::808:808]', '[::ffff:8.8.8.8]', '[2002:808:808::1]',
];

function guard(allowCidrs: string[] = [], lookup: (host: string) => Promise<LookupAddress[]> = lookupAll) {
  return createGuard({ allowCidrs, lookup });
}

function resolvesTo(...addresses: string[]): (host: string) => Promise<LookupAddress[]> {
  return async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
}

describe('addresses', () => {
  test.each(forbiddenHosts)('%s is refused', async (host) => {
    await expect(guard().check(`http://${host}/`)).rejects.toThrow(refused);
  });

  test.each(legalHosts)('%s is allowed', async (host) => {
    await expect(guard().check(`https://${host}/`)).resolves.toMatchObject({ addresses: [{}] });
  });

  test.each(forbiddenHosts.filter((host) => ipaddr.isValid(host.replace(/[[\]]/g, ''))))('a name that resolves to %s is refused, alone or among others', async (host) => {
    const address = host.replace(/[[\]]/g, '');
    await expect(guard([], resolvesTo(address)).check('http://name.test/')).rejects.toThrow(/not on the public internet/);
    await expect(guard([], resolvesTo('8.8.8.8', address)).check('http://name.test/')).rejects.toThrow(/not on the public internet/);
  });

  test('a name without addresses, or with a zone behind one', async () => {
    await expect(guard([], resolvesTo()).check('http://name.test/')).rejects.toThrow(/cannot be found/);
    await expect(guard([], () => Promise.reject(new Error('SERVFAIL'))).check('http://name.test/')).rejects.toThrow(/cannot be found/);
    await expect(guard([], resolvesTo('fe80::1%eth0')).check('http://name.test/')).rejects.toThrow(/not on the public internet/);
  });

  test.each(['file:///etc/passwd', 'ftp://1.1.1.1/', 'gopher://1.1.1.1/', 'data:text/html,x', 'javascript:1', '//1.1.1.1/', 'example', 'http://', 'http://[::1', `http://1.1.1.1/${'x'.repeat(9000)}`])(
    '%s is no page',
    async (url) => {
      await expect(guard().check(url)).rejects.toThrow(/cannot be fetched|is no URL|too long/);
    },
  );

  test('a user name in the URL hides no host', async () => {
    await expect(guard().check('http://example.org@127.0.0.1/')).rejects.toThrow(/user name/);
    await expect(guard().check('http://1.1.1.1\\@127.0.0.1/')).resolves.toMatchObject({ addresses: [{ address: '1.1.1.1' }] });
  });

  test.each(['22', '25', '6379', '8642', '65535'])('port %s is refused', async (port) => {
    await expect(guard().check(`http://1.1.1.1:${port}/`)).rejects.toThrow(/Port/);
  });
  test.each(['80', '443', '8080', '8443'])('port %s is allowed', async (port) => {
    await guard().check(`http://1.1.1.1:${port}/`);
  });

  test('property: the judgement agrees with the list of ranges, address by address', () => {
    const ranges = '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.168.0.0/16 198.18.0.0/15 224.0.0.0/4 240.0.0.0/4';
    const special = '192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 192.88.99.0/24 192.31.196.0/24 192.52.193.0/24 192.175.48.0/24';
    const toList = (text: string) => {
      const list = new BlockList();
      for (const range of text.split(' ')) list.addSubnet(range.split('/')[0] ?? '', Number(range.split('/')[1]));
      return list;
    };
    const [blocked, reserved] = [toList(ranges), toList(special)];
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const judged = isPublic(ipaddr.parse(address));
        if (blocked.check(address)) expect(judged).toBe(false);
        else if (!reserved.check(address)) expect(judged).toBe(true);
        expect(isPublic(ipaddr.parse(`::ffff:${address}`))).toBe(judged);
        expect(isPublic(ipaddr.parse(`64:ff9b::${address}`))).toBe(judged);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('allow_cidrs', () => {
  test('opens its range alone, on any port, for names and for mapped forms', async () => {
    const opened = guard(['198.18.0.0/15'], resolvesTo('198.18.0.5'));
    await opened.check('https://name.test:9999/');
    await opened.check('http://198.18.0.5/');
    await opened.check('http://[::ffff:198.18.0.5]/');
    for (const host of ['127.0.0.1', '10.0.0.1', '[::1]', '198.20.0.1:99']) await expect(opened.check(`http://${host}/`)).rejects.toThrow();
  });

  test('one opened address does not open the others of a name', async () => {
    await expect(guard(['198.18.0.0/15'], resolvesTo('198.18.0.5', '10.0.0.1')).check('http://name.test/')).rejects.toThrow(/not on the public/);
  });

  test('a v6 range opens v6 addresses', async () => {
    await guard(['fd00::/8']).check('http://[fd12::1]/');
    await expect(guard(['fd00::/8']).check('http://[fc12::1]/')).rejects.toThrow();
  });
});

/** One port on two addresses: 127.0.0.2 is opened by the tests, 127.0.0.1 is the canary that nobody may reach. */
async function servers(listener: RequestListener) {
  const hits: string[] = [];
  const canary = createServer((request, response) => {
    hits.push(request.url ?? '');
    response.end('SECRET');
  });
  const legal = createServer(listener);
  const listen = (server: Server, host: string, port: number) =>
    new Promise<number>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => {
        const address = server.address();
        resolve(typeof address === 'object' && address ? address.port : 0);
      });
    });
  const port = await listen(canary, '127.0.0.1', 0);
  await listen(legal, '127.0.0.2', port);
  onTestFinished(() => {
    for (const server of [canary, legal]) server.close().closeAllConnections();
  });
  return { port, hits };
}

const never = new AbortController().signal;
const onlyLegal = ['127.0.0.2/32'];

describe('over real sockets', () => {
  test('no spelling of the canary is reached, directly or by a redirect', async () => {
    let target = '';
    const { port, hits } = await servers((_, response) => response.writeHead(302, { location: Buffer.from(target).toString('latin1') }).end());
    for (const host of forbiddenHosts) {
      target = `http://${host}:${port}/redirected`;
      await expect(fetchPublic(`http://${host}:${port}/direct`, guard(onlyLegal), never)).rejects.toThrow(refused);
      await expect(fetchPublic(`http://127.0.0.2:${port}/`, guard(onlyLegal), never)).rejects.toThrow(refused);
    }
    expect(hits).toEqual([]);
  });

  test('redirects to other schemes and ports are refused, and relative ones work', async () => {
    let target = '';
    const { port } = await servers((request, response) => {
      if (request.url === '/start') response.writeHead(301, { location: target }).end();
      else response.end('arrived');
    });
    for (target of ['file:///etc/passwd', 'ftp://1.1.1.1/', 'http://1.1.1.1:22/', 'http://u:p@127.0.0.2/']) {
      await expect(fetchPublic(`http://127.0.0.2:${port}/start`, guard(onlyLegal), never)).rejects.toThrow(/cannot be fetched/);
    }
    target = '/next';
    const page = await fetchPublic(`http://127.0.0.2:${port}/start`, guard(onlyLegal), never);
    expect([page.url, Buffer.from(page.body).toString()]).toEqual([`http://127.0.0.2:${port}/next`, 'arrived']);
  });

  test('a name that changes its address after it was judged still leads to the judged one', async () => {
    let asked = 0;
    const flipping = async () => [{ address: ++asked === 1 ? '127.0.0.2' : '127.0.0.1', family: 4 }];
    const { port, hits } = await servers((request, response) => response.end(`host ${request.headers.host}`));
    const page = await fetchPublic(`http://flip.test:${port}/`, guard(onlyLegal, flipping), never);
    expect(Buffer.from(page.body).toString()).toBe(`host flip.test:${port}`);
    await expect(fetchPublic(`http://flip.test:${port}/`, guard(onlyLegal, flipping), never)).rejects.toThrow(/not on the public/);
    expect(hits).toEqual([]);
  });

  test('five redirects are followed, six are not', async () => {
    const { port } = await servers((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left > 0) response.writeHead(307, { location: `/${left - 1}` }).end();
      else response.end('end');
    });
    expect(Buffer.from((await fetchPublic(`http://127.0.0.2:${port}/5`, guard(onlyLegal), never)).body).toString()).toBe('end');
    await expect(fetchPublic(`http://127.0.0.2:${port}/6`, guard(onlyLegal), never)).rejects.toThrow(/more than 5 times/);
  });

  test('proxies of the environment, cookies and credentials take no part', async () => {
    const seen: Record<string, unknown>[] = [];
    const { port } = await servers((request, response) => {
      seen.push(request.headers);
      if (request.url === '/') response.writeHead(302, { location: '/again', 'set-cookie': 'id=1' }).end();
      else response.end();
    });
    const before = process.env['http_proxy'];
    process.env['http_proxy'] = `http://127.0.0.1:${port}`;
    onTestFinished(() => {
      if (before === undefined) delete process.env['http_proxy'];
      else process.env['http_proxy'] = before;
    });
    await fetchPublic(`http://127.0.0.2:${port}/`, guard(onlyLegal), never);
    expect(seen).toHaveLength(2);
    for (const headers of seen) expect(Object.keys(headers).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent']);
  });
});
