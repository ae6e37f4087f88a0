/** The session_search tool: what the same people said in other sessions. Four shapes, told apart by the arguments. */
import type { ToolArgs } from '../contract/tool.ts';
import type { Session } from '../store/sessions.ts';
import type { Store } from '../store/store.ts';

const maxText = 400;
const maxHits = 10;
const neighbours = 10;

/** Never leaves the owner's sessions, and leaves the current one out of what it finds. */
export function searchSessions({ sessions, transcript }: Store, current: Session, args: ToolArgs): string {
  const limit = Math.min(maxHits, toCount(args['limit'], 3));
  const sessionId = typeof args['session_id'] === 'string' ? args['session_id'] : null;
  const query = typeof args['query'] === 'string' ? args['query'].trim() : '';

  if (sessionId !== null) {
    const session = sessions.get(sessionId);
    if (!session || session.owner !== current.owner) return JSON.stringify({ error: `There is no session ${sessionId}. Call session_search without arguments for a list.` });
    const around = Number.isInteger(args['around_message_id']) ? Number(args['around_message_id']) : null;
    const entries = transcript.page(sessionId, around, Math.min(60, toCount(args['window'], 30)));
    return JSON.stringify({ session_id: sessionId, title: session.title, messages: entries.map(toMessage) });
  }
  if (query === '') {
    const recent = sessions.list({ owner: current.owner, limit: limit + 1 }).filter(({ id }) => id !== current.id);
    return JSON.stringify({ sessions: recent.slice(0, limit).map(({ id, title, lastActiveAt, turns }) => ({ session_id: id, title, last_active: toTime(lastActiveAt), turns })) });
  }
  const roles = typeof args['role_filter'] === 'string' ? args['role_filter'].split(',').map((role) => role.trim()) : ['user', 'assistant'];
  const hits = transcript.search(query, { owner: current.owner, exceptSession: current.id, roles, limit: limit * 5 });
  const bySession = new Map(hits.toReversed().map((hit) => [hit.sessionId, hit]));
  const results = [...bySession.values()].toReversed().slice(0, limit);
  return JSON.stringify({
    results: results.map((hit, index) => ({
      session_id: hit.sessionId,
      title: hit.title,
      message_id: hit.entryId,
      when: toTime(hit.createdAt),
      role: hit.role,
      text: shorten(hit.text),
      // Only the best one with what stands around it: the others can be asked for.
      ...(index === 0 ? { around: transcript.page(hit.sessionId, hit.entryId, neighbours).map(toMessage) } : {}),
    })),
  });
}

const toMessage = ({ id, role, text, createdAt }: { id: number; role: string; text: string; createdAt: number }) => ({ message_id: id, role, text: shorten(text), when: toTime(createdAt) });
const toTime = (ms: number) => new Date(ms).toISOString().slice(0, 16);
const shorten = (text: string) => (text.length <= maxText ? text : `${text.slice(0, maxText).toWellFormed()} …`);

function toCount(value: unknown, fallback: number): number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : fallback;
}
