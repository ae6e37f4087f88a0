/**
 * Consent to dangerous tool calls: asked of the person whose turn it is, bound to that call's arguments, single use. No answer,
 * nobody to ask, or mode `deny` means no. A refusal never says how consent could be switched off.
 */
import { createHash } from 'node:crypto';
import type { Button } from '../contract/message.ts';
import type { Hooks } from '../contract/plugin.ts';
import type { ToolArgs } from '../contract/tool.ts';
import type { KeyedState } from '../store/adapter-state.ts';
import type { Questions } from './questions.ts';

export interface ApprovalRequest {
  lane: string;
  sessionId: string;
  turnId: string;
  platform: string;
  senderId: string;
  toolCallId: string;
  name: string;
  args: ToolArgs;
  reason: string;
  signal: AbortSignal;
  /** Absent where nobody can answer. */
  show?: (text: string, buttons: Button[][]) => Promise<void> | void;
}

export type Consent = { allow: true } | { allow: false; message: string };

export interface ApprovalSettings {
  mode: 'ask' | 'deny' | 'off';
  timeoutMs: number;
  /** Commands that need no consent, compared whole. */
  allow: readonly string[];
}

const choices = ['Allow once', 'Allow for this session', 'Always allow this', 'Deny'];
const scopes = ['once', 'session', 'always', 'deny'] as const;
/** Choice numbers for /approve and /deny. */
export const approvalChoice = { once: 0, session: 1, always: 2, deny: 3 } as const;

export function createApprovals({ questions, settings, state, hooks }: { questions: Questions; settings: ApprovalSettings; state: KeyedState; hooks: Hooks }) {
  const forSession = new Set<string>();

  return async (request: ApprovalRequest): Promise<Consent> => {
    const { name, args, reason, sessionId } = request;
    if (settings.mode === 'off') return { allow: true };
    const exact = `allow:${name}:${createHash('sha256').update(JSON.stringify(args)).digest('hex')}`;
    const kind = `${sessionId}:${name}:${reason}`;
    const command = typeof args['command'] === 'string' ? args['command'] : null;
    if (command !== null && settings.allow.includes(command)) return { allow: true };
    if (forSession.has(kind) || (await state.get(exact)) !== undefined) return { allow: true };
    if (settings.mode === 'deny' || !request.show) return { allow: false, message: `Not run: ${reason}, and nobody can consent to it here.` };

    const shared = { session_id: sessionId, turn_id: request.turnId, platform: request.platform, tool_name: name, tool_call_id: request.toolCallId };
    if (hooks.has('pre_approval_request')) await hooks.fire('pre_approval_request', { ...shared, args, reason });
    const show = request.show;
    const text = `**Allow ${name}?** (${reason})\n\n${toFenced(command ?? JSON.stringify(args, null, 1))}\nAnswer with a button, /approve, /approve session, /approve always or /deny.`;
    const answer = await questions.ask(
      { lane: request.lane, senderId: request.senderId, kind: 'approval', choices, timeoutMs: settings.timeoutMs, signal: request.signal },
      (buttons) => show(text, buttons),
    );
    const scope = answer ? (scopes[answer.choice ?? -1] ?? 'deny') : 'timeout';
    if (hooks.has('post_approval_response'))
      void hooks.fire('post_approval_response', { ...shared, choice: scope, decided_by: answer?.by ?? null });
    if (scope === 'session') forSession.add(kind);
    if (scope === 'always') await state.set(exact, new Date().toISOString());
    if (scope === 'deny') return { allow: false, message: 'Not run: the user refused. Do not try the same in another way; ask what to do instead.' };
    if (scope === 'timeout') return { allow: false, message: 'Not run: nobody answered the question for consent in time.' };
    return { allow: true };
  };
}

/** The exact bytes in a code block that nothing in them can end. */
function toFenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
