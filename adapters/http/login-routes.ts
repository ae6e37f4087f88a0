/** The paths by which a browser gets its cookie, gives it back, and by which a key's owner gets a new link. */
import type { Logins } from './login.ts';
import { cookieName, readCookie, toCookie } from './login.ts';
import { toErrorReply, toLimited } from './faults.ts';
import { isSameSecret, type FailureCount } from './guard.ts';
import type { Entry } from './router.ts';

export interface LoginRouteDeps {
  key: string;
  logins: Logins;
  failures: FailureCount;
  loginLink(): string;
  port(): number;
}

export function toLoginRoutes({ key, logins, failures, loginLink, port }: LoginRouteDeps): Entry[] {
  return [
    {
      method: 'GET',
      path: '/login',
      auth: 'open',
      async handle({ query, ip }) {
        const waitS = failures.waitS(ip);
        if (waitS > 0) return toErrorReply(toLimited(waitS));
        const secret = await logins.redeem(query['ticket'] ?? '');
        if (secret !== null) return { status: 303, headers: { location: '/', 'set-cookie': toCookie(port(), secret) } };
        failures.failed(ip);
        return { status: 303, headers: { location: '/#link-used' } };
      },
    },
    {
      method: 'POST',
      path: '/login',
      auth: 'open',
      async handle({ body, ip }) {
        const waitS = failures.waitS(ip);
        if (waitS > 0) return toErrorReply(toLimited(waitS));
        const given = typeof body === 'object' && body !== null && 'key' in body ? body.key : undefined;
        if (typeof given === 'string' && isSameSecret(given, key)) return { status: 204, headers: { 'set-cookie': toCookie(port(), await logins.login()) } };
        failures.failed(ip);
        return toErrorReply({ status: 401, code: 'invalid_api_key', message: 'That is not the key.' });
      },
    },
    {
      method: 'POST',
      path: '/logout',
      auth: 'key',
      async handle({ headers }) {
        const secret = readCookie(headers['cookie'], cookieName(port()));
        if (secret !== null) await logins.logout(secret);
        return { status: 204, headers: { 'set-cookie': toCookie(port(), null) } };
      },
    },
    {
      method: 'POST',
      path: '/api/login-link',
      auth: 'key',
      handle: async () => ({ status: 200, body: { url: loginLink(), expires_in_s: 600 } }),
    },
  ];
}
