/** What is shown of the house: the same facts for `hermes ... list`, /api and the page. */
import type { OutboxFacts, SessionDetail, SessionFacts, SessionHit, ToolFacts } from '../cli/deps.ts';
import { formatAddress } from '../store/outbox.ts';
import type { Session } from '../store/sessions.ts';
import type { Store } from '../store/store.ts';
import type { Core } from './core.ts';

export async function toToolFacts(core: Core, platform: string): Promise<ToolFacts[]> {
  const { names, absent } = core.agent.platformTools(platform);
  const { definitions, absent: failing } = await core.registry.definitions(names);
  const reasons = new Map([...absent, ...failing].map(({ name, reason }) => [name, reason]));
  const offered = new Set(definitions.map(({ name }) => name));
  return core.registry.names().flatMap((name) => {
    const tool = core.registry.get(name);
    if (!tool) return [];
    return [{ name, toolset: tool.toolset, description: tool.schema.description, absent: offered.has(name) ? null : (reasons.get(name) ?? 'not in a toolset of this platform') }];
  });
}

export function toSessionFacts({ sessions }: Store, limit: number, search?: string): SessionFacts[] {
  return sessions.list({ limit, ...(search ? { search } : {}) }).map(toFacts);
}

const toFacts = ({ id, title, platform, startedAt, lastActiveAt, turns }: Session): SessionFacts => ({ id, title, platform, startedAt, lastActiveAt, turns });

export function toSessionDetail({ sessions, transcript }: Store, id: string, limit: number): SessionDetail | null {
  const session = sessions.get(id);
  if (!session) return null;
  return { ...toFacts(session), entries: transcript.page(id, null, limit).map(({ role, text, createdAt }) => ({ role, text, createdAt })) };
}

export function toSessionHits({ transcript }: Store, query: string, limit: number): SessionHit[] {
  const found = transcript.search(query, { owner: null, roles: ['user', 'assistant', 'tool'], limit });
  return found.map(({ sessionId, title, role, text, createdAt }) => ({ sessionId, title, role, text, createdAt }));
}

export function toOutboxFacts({ outbox }: Store, limit: number): OutboxFacts[] {
  return outbox.list(['waiting', 'attempting', 'unknown', 'dead'], limit).map(({ id, state, payload, attempts, error, createdAt }) => ({
    id,
    state,
    address: formatAddress(payload.address),
    text: payload.text,
    attempts,
    error,
    createdAt,
  }));
}
