/** `/api/pairing`: who waits and who is in, letting in by a code, and taking it back. All behind the key. */
import type { Route, RouteReply } from '../contract/adapter.ts';
import type { Core } from './core.ts';

export function toPairingRoutes({ pairing, adapters }: Pick<Core, 'pairing' | 'adapters'>): Route[] {
  const post = (path: string, names: readonly [string, string], act: (platform: string, value: string) => Promise<RouteReply>): Route => ({
    method: 'POST',
    path,
    auth: 'key',
    async handle({ body }) {
      const given = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
      const [platform, value] = names.map((name) => given[name]);
      if (typeof platform !== 'string' || typeof value !== 'string') return refuse(400, `Give ${names.map((name) => `\`${name}\``).join(' and ')} as texts.`);
      return act(platform, value);
    },
  });

  return [
    { method: 'GET', path: '/api/pairing', auth: 'key', handle: async () => ({ status: 200, body: pairing.list() }) },

    post('/api/pairing/approve', ['platform', 'code'], async (platform, code) => {
      const chats = [...adapters.values()].filter((adapter) => adapter.send).map((adapter) => adapter.platform);
      if (!chats.includes(platform)) return refuse(404, `No chat platform ${platform} is on; there ${chats.length === 1 ? 'is' : 'are'}: ${chats.join(', ') || 'none'}.`);
      const approval = await pairing.approve(platform, code);
      switch (approval.status) {
        case 'approved':
          return { status: 200, body: { paired: { platform, user: approval.user, name: approval.name } } };
        case 'wrong':
          return refuse(404, `Nobody on ${platform} has this code; codes are good for 10 minutes. ${toWarning(approval.left, platform)}`);
        case 'locked':
          return refuse(429, `Too many wrong codes for ${platform}: nothing is approved there before ${new Date(approval.until).toISOString()}.`);
      }
    }),

    post('/api/pairing/revoke', ['platform', 'user'], async (platform, user) => {
      if (!(await pairing.revoke(platform, user))) return refuse(404, `${user} was not paired on ${platform}; hermes pairing list shows who is. Who is in allowed_users is let in by config.yaml.`);
      return { status: 200, body: { revoked: { platform, user } } };
    }),
  ];
}

function toWarning(left: number, platform: string): string {
  return left === 0 ? `That was one too many: nothing is approved for ${platform} for an hour.` : `${left} more wrong ${left === 1 ? 'code locks' : 'codes lock'} approval for an hour.`;
}

function refuse(status: number, message: string): RouteReply {
  return { status, body: { error: { message, code: 'REQUEST_INVALID' } } };
}
