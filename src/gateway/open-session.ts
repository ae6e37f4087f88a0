/** Which session a message continues: the live one of its key, a new one after a reset policy struck, or the one it names. */
import { HermesError } from '../contract/errors.ts';
import type { InboundMessage } from '../contract/message.ts';
import type { Hooks } from '../contract/plugin.ts';
import type { ResetReason, Session, Sessions } from '../store/sessions.ts';

export interface ResetPolicy {
  mode: 'none' | 'idle' | 'daily' | 'both';
  /** Local hour of the daily reset. */
  atHour: number;
  idleMinutes: number;
}

export type OpenFor = (message: InboundMessage, lane: string) => Promise<Session>;

export interface OpenSessionDeps {
  sessions: Sessions;
  policy: ResetPolicy;
  hooks: Hooks;
  toOwner(message: InboundMessage): string;
  now(): number;
}

/** The returned function throws HermesError SESSION_UNKNOWN when the message names a session that is not its sender's. */
export function createOpenFor({ sessions, policy, hooks, toOwner, now }: OpenSessionDeps): OpenFor {
  return async (message, lane) => {
    const { options, address } = message;
    const owner = toOwner(message);
    if (options?.sessionId !== undefined) {
      const live = sessions.live(lane);
      if (live?.id === options.sessionId) return live;
      const resumed = await sessions.resume(options.sessionId, lane, owner, now());
      if (!resumed) throw new HermesError('SESSION_UNKNOWN', `There is no session ${options.sessionId} that you can resume. \`hermes sessions list\` shows yours.`);
      return resumed;
    }
    const settings = {
      ...(options?.toolsets ? { toolsets: options.toolsets } : {}),
      ...(options?.instructions ? { instructions: options.instructions } : {}),
    };
    const at = now();
    const live = sessions.live(lane);
    // Most messages go on with what is there; that needs no transaction.
    if (live && isOver(live, policy, at) === null) return live;
    const { session, ended } = await sessions.open({ key: lane, owner, address, now: at, settings, isOver: (current) => isOver(current, policy, at) });
    if (ended) await tellReset(hooks, ended.session, session, ended.reason);
    return session;
  };
}

/** finalize(old), then reset(new). */
export async function tellReset(hooks: Hooks, old: Session, fresh: Session, reason: ResetReason): Promise<void> {
  const change = { old_session_id: old.id, new_session_id: fresh.id, platform: old.platform, reason };
  if (hooks.has('on_session_finalize')) await hooks.fire('on_session_finalize', { ...change, session_id: old.id });
  if (hooks.has('on_session_reset')) await hooks.fire('on_session_reset', { ...change, session_id: fresh.id });
}

/** Judged on the next message: a quiet session costs nothing. */
export function isOver(session: Session, policy: ResetPolicy, now: number): ResetReason | null {
  const { mode, idleMinutes, atHour } = policy;
  if ((mode === 'idle' || mode === 'both') && now - session.lastActiveAt > idleMinutes * 60_000) return 'idle';
  if (mode !== 'daily' && mode !== 'both') return null;
  const boundary = new Date(now);
  boundary.setHours(atHour, 0, 0, 0);
  if (boundary.getTime() > now) {
    boundary.setDate(boundary.getDate() - 1);
    // Again, because an hour that the clocks skip today is there on other days.
    boundary.setHours(atHour, 0, 0, 0);
  }
  return session.lastActiveAt < boundary.getTime() ? 'daily' : null;
}
