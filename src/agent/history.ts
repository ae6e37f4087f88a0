/**
 * The grammar of a history, the one thing that every provider insists on:
 *
 *   history = turn*
 *   turn    = user, (assistant with calls, one tool entry per call in call order, steering user?)*, assistant with text
 *
 * What this program writes is asserted; what it reads (rows of a turn that died, an imported conversation) is repaired before it
 * is sent. Only the turn that is running may be open at its end.
 */
import { HermesError } from '../contract/errors.ts';
import type { ToolCall } from '../contract/model.ts';
import type { AssistantEntry, Entry, HistoryMessage, ToolEntry, UserEntry } from '../contract/transcript.ts';
import { isVisible } from './visible.ts';

export const interruptedResult = JSON.stringify({ error: 'interrupted by a restart; outcome unknown' });
export const noAnswer = '(This turn ended without an answer.)';
const emptyMessage = '(empty message)';
const continued = '(continued)';
export const noOutput = '(no output)';

const namePattern = /^[A-Za-z0-9_-]{1,64}$/;

/** Throws HISTORY_INVALID with the place of the first fault. `open`: the last turn is still running, so it may lack its answer. */
export function assertHistory(entries: readonly Entry[], { open = false } = {}): void {
  const fault = findFault(entries, open);
  if (fault) throw new HermesError('HISTORY_INVALID', `The history breaks the grammar at ${fault}. Please report this with the log around it.`);
}

function findFault(entries: readonly Entry[], open: boolean): string | null {
  let before: 'answer' | 'user' | 'results' = 'answer';
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i] as Entry;
    const fault = (what: string) => `entry ${i} (${entry.role}): ${what}`;
    if (entry.role === 'user') {
      if (before === 'user') return fault('follows another user entry');
      if (before === 'results' && entries[i - 1]?.turnId !== entry.turnId) return fault('begins a turn before the last one was answered');
      if (!hasContent(entry)) return fault('is empty');
      before = 'user';
    } else if (entry.role === 'tool') return fault('answers no call');
    else if (before === 'answer') return fault('has no user entry before it');
    else if (entry.toolCalls.length === 0) {
      if (!isVisible(entry.text)) return fault('is empty');
      before = 'answer';
    } else {
      const wrong = findCallFault(entry.toolCalls);
      if (wrong) return fault(wrong);
      for (const call of entry.toolCalls) {
        const result = entries[++i];
        if (result?.role !== 'tool' || result.toolCallId !== call.id) return fault(`its call ${call.id} has no result in its place`);
        if (result.name !== call.name) return fault(`the result of ${call.id} bears another name`);
        if (!result.text || !isVisible(result.text)) return fault(`the result of ${call.id} is empty`);
      }
      before = 'results';
    }
  }
  return open || before === 'answer' ? null : 'its end: the last turn has no answer';
}

function findCallFault(calls: readonly ToolCall[]): string | null {
  const ids = new Set<string>();
  for (const call of calls) {
    if (!call.id || ids.has(call.id)) return `the call id ${JSON.stringify(call.id)} is missing or used twice`;
    if (!namePattern.test(call.name)) return 'the name of a call has other characters than A-Z a-z 0-9 _ -';
    if (!isObject(call.args)) return `the arguments of ${call.id} are no object`;
    ids.add(call.id);
  }
  return null;
}

/**
 * A history that can be sent, made from entries in any state. Entries that are right are passed on as they are, so a right
 * history costs one walk. `repairs` says in words what was changed. Repairing twice changes nothing the second time.
 */
export function repairHistory(entries: readonly Entry[]): { entries: Entry[]; repairs: string[] } {
  const out: Entry[] = [];
  const repairs: string[] = [];
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i] as Entry;
    if (entry.role === 'user') addUser(entry, out, repairs);
    else if (entry.role === 'assistant') {
      // Results may stand behind a steering message when several calls ran side by side; they belong to the last step.
      const results: ToolEntry[] = [];
      const others: UserEntry[] = [];
      for (let next = entries[i + 1]; next && next.role !== 'assistant'; next = entries[i + 1]) {
        if (next.role === 'tool') results.push(next);
        else others.push(next);
        i++;
      }
      addAssistant(entry, results, out, repairs);
      for (const user of others) addUser(user, out, repairs);
    } else repairs.push(`a result without a call was dropped (${entry.toolCallId})`);
  }
  close(out, repairs);
  return { entries: out, repairs };
}

function addUser(entry: UserEntry, out: Entry[], repairs: string[]): void {
  const before = out.at(-1);
  const user = fillUser(entry);
  if (user !== entry) repairs.push('an empty user message was given a text');
  if (before?.role === 'user' && before.turnId === user.turnId) {
    repairs.push('two user messages in a row were joined');
    out[out.length - 1] = joinUsers([before, user]);
    return;
  }
  if (before && before.turnId !== user.turnId) close(out, repairs);
  out.push(user);
}

/** A message may be nothing but the mention of the bot; the model is told so, because empty messages are refused. */
export function fillUser(user: UserEntry): UserEntry {
  return hasContent(user) ? user : { ...user, text: emptyMessage };
}

/** Several user entries of one turn as one: texts and notes by blank lines, files in order. */
export function joinUsers(users: readonly [UserEntry, ...UserEntry[]]): UserEntry {
  if (users.length === 1) return users[0];
  const joined: UserEntry = { ...users[0], text: users.map((user) => user.text).filter(isVisible).join('\n\n') };
  const notes = users.flatMap((user) => user.note ?? []);
  const media = users.flatMap((user) => user.media ?? []);
  if (notes.length > 0) joined.note = notes.join('\n\n');
  if (media.length > 0) joined.media = media;
  return joined;
}

function addAssistant(entry: AssistantEntry, results: readonly ToolEntry[], out: Entry[], repairs: string[]): void {
  const calls = repairCalls(entry.toolCalls, repairs);
  if (calls.length === 0 && !isVisible(entry.text)) {
    repairs.push('an empty assistant message was removed');
    for (const result of results) repairs.push(`a result without a call was dropped (${result.toolCallId})`);
    return;
  }
  const before = out.at(-1);
  if (!before || isAnswer(before)) {
    if (before?.role === 'assistant' && calls.length === 0) {
      repairs.push('two answers in a row were joined');
      out[out.length - 1] = { ...before, text: `${before.text}\n\n${entry.text}` };
      for (const result of results) repairs.push(`a result without a call was dropped (${result.toolCallId})`);
      return;
    }
    repairs.push('an answer to nobody was given a user message');
    out.push({ role: 'user', turnId: entry.turnId, text: continued });
  }
  out.push(calls === entry.toolCalls ? entry : { ...entry, toolCalls: calls });
  addResults(entry.toolCalls, calls, results, out, repairs);
}

function addResults(asked: readonly ToolCall[], calls: readonly ToolCall[], results: readonly ToolEntry[], out: Entry[], repairs: string[]): void {
  const left = [...results];
  calls.forEach((call, position) => {
    const at = left.findIndex((result) => result.toolCallId === asked[position]?.id);
    const found = at < 0 ? undefined : left.splice(at, 1)[0];
    if (!found) repairs.push(`the missing result of ${call.id} was added as interrupted`);
    else if (at > 0) repairs.push(`the result of ${call.id} was moved to its place`);
    else if (found.text === null) repairs.push(`the call ${call.id} had no result and was marked as interrupted`);
    const turnId = found?.turnId ?? out.at(-1)?.turnId ?? '';
    const text = found?.text === undefined || found.text === null ? interruptedResult : isVisible(found.text) ? found.text : noOutput;
    const same = found && found.toolCallId === call.id && found.name === call.name && found.text === text;
    out.push(same ? found : { role: 'tool', turnId, toolCallId: call.id, name: call.name, text });
  });
  for (const result of left) repairs.push(`a result without a call was dropped (${result.toolCallId})`);
}

/** The same array when every call is right. Arguments of a wrong kind become `{}`; wrong names and ids are made right. */
export function repairCalls(calls: ToolCall[], repairs: string[] = []): ToolCall[] {
  if (findCallFault(calls) === null) return calls;
  const ids = new Set<string>();
  return calls.map((call, position) => {
    let id = call.id || `call_${position}`;
    for (let copy = 2; ids.has(id); copy++) id = `${call.id || `call_${position}`}_${copy}`;
    ids.add(id);
    const name = namePattern.test(call.name) ? call.name : call.name.slice(0, 64).replace(/[^A-Za-z0-9_-]/g, '_') || 'unnamed';
    repairs.push(`the call ${id} was made valid`);
    return { ...call, id, name, args: isObject(call.args) ? call.args : {} };
  });
}

/** An answer for a last turn that has none. */
function close(out: Entry[], repairs: string[]): void {
  const last = out.at(-1);
  if (!last || isAnswer(last)) return;
  repairs.push('a turn without an answer was closed');
  out.push({ role: 'assistant', turnId: last.turnId, text: noAnswer, toolCalls: [] });
}

/** The turns of a valid history, oldest first: each begins with the user entry that follows an answer. */
export function groupTurns(entries: readonly Entry[]): Entry[][] {
  const turns: Entry[][] = [];
  let before: Entry | undefined;
  for (const entry of entries) {
    if (!before || (entry.role === 'user' && isAnswer(before))) turns.push([]);
    turns.at(-1)?.push(entry);
    before = entry;
  }
  return turns;
}

/** The copy that hooks get. */
export function toHistoryMessages(entries: readonly Entry[]): HistoryMessage[] {
  return entries.map((entry) => {
    if (entry.role === 'user') return { role: 'user', content: entry.text };
    if (entry.role === 'tool') return { role: 'tool', content: entry.text ?? '', tool_call_id: entry.toolCallId };
    if (entry.toolCalls.length === 0) return { role: 'assistant', content: entry.text };
    const calls = entry.toolCalls.map(({ id, name, args }) => ({
      id,
      type: 'function' as const,
      function: { name, arguments: JSON.stringify(args) },
    }));
    return { role: 'assistant', content: entry.text, tool_calls: calls };
  });
}

function isAnswer(entry: Entry): boolean {
  return entry.role === 'assistant' && entry.toolCalls.length === 0;
}

function hasContent(entry: UserEntry): boolean {
  return isVisible(entry.text) || (entry.media?.length ?? 0) > 0 || Boolean(entry.note && isVisible(entry.note));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
