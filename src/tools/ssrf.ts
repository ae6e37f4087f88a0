/**
 * Keeps tools that fetch pages on the public internet. A URL comes from the model, and the model may have it from a stranger:
 * it must not reach this machine, its network or a cloud's metadata service. Judged are the addresses that a name resolves
 * to, all of them, and the connection then goes to a judged address and to no other.
 */
import type { LookupAddress } from 'node:dns';
import ipaddr from 'ipaddr.js';

export interface Destination {
  url: URL;
  /** Judged; the connection must use one of these. */
  addresses: LookupAddress[];
}

export interface Guard {
  /** Resolves the name and judges every address. Rejects with an Error for the model when it must not be fetched. */
  check(url: string): Promise<Destination>;
}

export interface GuardOptions {
  /** web.allow_cidrs: ranges that are open although they are not public; in them every port is. */
  allowCidrs: readonly string[];
  /** Every address of a name. */
  lookup: (hostname: string) => Promise<LookupAddress[]>;
}

const ports = new Set(['', '80', '443', '8080', '8443']);
const longestUrl = 8_192;

export function createGuard({ allowCidrs, lookup }: GuardOptions): Guard {
  const open = allowCidrs.map((cidr) => ipaddr.parseCIDR(cidr));

  function isOpened(address: Ip): boolean {
    return [address, embeddedV4(address)].some((ip) => ip !== null && open.some((range) => ip.kind() === range[0].kind() && ip.match(range)));
  }

  async function check(text: string): Promise<Destination> {
    const url = toUrl(text);
    const hostname = url.hostname.replace(/^\[|\]$/g, '');
    const addresses = ipaddr.isValid(hostname)
      ? [{ address: hostname, family: hostname.includes(':') ? 6 : 4 }]
      : await lookup(hostname).catch(() => {
          throw new Error(`The host ${hostname} cannot be found.`);
        });
    if (addresses.length === 0) throw new Error(`The host ${hostname} cannot be found.`);
    const parsed = addresses.map(({ address }) => ipaddr.parse(address.replace(/%.*$/, '')));
    if (!parsed.every((address) => isPublic(address) || isOpened(address))) throw new Error(`${url.host} is not on the public internet and cannot be fetched.`);
    if (!ports.has(url.port) && !parsed.every(isOpened)) throw new Error(`Port ${url.port} cannot be fetched; only 80, 443, 8080 and 8443 can.`);
    return { url, addresses };
  }

  return { check };
}

function toUrl(text: string): URL {
  if (text.length > longestUrl) throw new Error('The URL is too long.');
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new Error(`${JSON.stringify(text.slice(0, 200))} is no URL; write it whole, e.g. https://example.org/page.`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error(`${url.protocol} URLs cannot be fetched; only http and https can.`);
  if (url.username !== '' || url.password !== '') throw new Error('URLs with a user name or password cannot be fetched.');
  return url;
}

type Ip = ReturnType<typeof ipaddr.parse>;

const globalV6 = ipaddr.parseCIDR('2000::/3');

/** True for public unicast addresses; one that carries a v4 address is judged by that. */
export function isPublic(address: Ip): boolean {
  const inner = embeddedV4(address);
  if (inner) return inner.range() === 'unicast';
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || address.match(globalV6);
}

/** Where each prefix keeps its v4 address, in bytes: mapped, NAT64 (RFC 6052), 6to4. */
const embeddings = [
  [ipaddr.parseCIDR('::ffff:0:0/96'), 12],
  [ipaddr.parseCIDR('64:ff9b::/96'), 12],
  [ipaddr.parseCIDR('2002::/16'), 2],
] as const;

function embeddedV4(address: Ip): Ip | null {
  if (address.kind() === 'ipv4') return null;
  const bytes = address.toByteArray();
  const found = embeddings.find(([range]) => address.match(range));
  return found ? ipaddr.fromByteArray(bytes.slice(found[1], found[1] + 4)) : null;
}
