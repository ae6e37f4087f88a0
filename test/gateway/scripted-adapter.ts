/** An adapter whose platform is a function: each call is kept with its moment, and answered as the test says. */
import type { Adapter, SendOutcome } from '../../src/contract/adapter.ts';
import type { Address, OutboundPart } from '../../src/contract/message.ts';

export interface Call {
  method: 'send' | 'edit' | 'typing';
  at: number;
  chat: string;
  text: string;
  /** For edits: the message to edit. */
  messageId?: string;
  key: string;
}

export type Answer = SendOutcome | 'hang';

export interface ScriptedAdapter extends Adapter {
  calls: Call[];
  /** What people see, by message id: the newest text. */
  shown: Map<string, { chat: string; text: string }>;
  /** Answers for the next calls that send or edit, in order. */
  next(...answers: Answer[]): void;
  /** Answers calls when `next` is used up; undefined is success. */
  answer(reply: (call: Call) => Answer | undefined): void;
  texts(chat?: string): string[];
  typing(address: Address, signal: AbortSignal): Promise<void>;
}

export interface AdapterOptions {
  isIdempotent?: boolean;
  /** No `edit`: every text is a message of its own. */
  withoutEdit?: boolean;
  /** Characters per message. */
  limit?: number;
  platform?: string;
}

export function createScriptedAdapter({ isIdempotent = false, withoutEdit = false, limit = 4000, platform = 'test' }: AdapterOptions = {}): ScriptedAdapter {
  const calls: Call[] = [];
  const shown: ScriptedAdapter['shown'] = new Map();
  const byKey = new Map<string, string>();
  const queue: Answer[] = [];
  let reply: (call: Call) => Answer | undefined = () => undefined;

  const call = async (made: Call, effect: () => string): Promise<SendOutcome> => {
    calls.push(made);
    const answer = queue.shift() ?? reply(made);
    if (answer === 'hang') return new Promise(() => {});
    if (answer !== undefined && answer.status !== 'sent') return answer;
    return { status: 'sent', messageId: effect() };
  };

  const send = (part: OutboundPart) =>
    call({ method: 'send', at: Date.now(), chat: part.address.chat, text: part.text, key: part.idempotencyKey }, () => {
      const known = isIdempotent ? byKey.get(part.idempotencyKey) : undefined;
      const id = known ?? `m${shown.size + 1}`;
      if (known === undefined) shown.set(id, { chat: part.address.chat, text: part.text });
      byKey.set(part.idempotencyKey, id);
      return id;
    });

  const edit = (messageId: string, part: OutboundPart) =>
    call({ method: 'edit', at: Date.now(), chat: part.address.chat, text: part.text, messageId, key: part.idempotencyKey }, () => {
      shown.set(messageId, { chat: part.address.chat, text: part.text });
      return messageId;
    });

  return {
    platform,
    hint: '',
    pace: { previewDmMs: 1200, previewGroupMs: 3500 },
    isIdempotent,
    calls,
    shown,
    next: (...answers) => void queue.push(...answers),
    answer: (next) => void (reply = next),
    texts: (chat) => [...shown.values()].filter((message) => chat === undefined || message.chat === chat).map(({ text }) => text),
    start: async () => {},
    stop: async () => {},
    split: (text) => text.match(new RegExp(`[\\s\\S]{1,${limit}}`, 'g')) ?? [],
    send,
    ...(withoutEdit ? {} : { edit }),
    typing: async (address) => void calls.push({ method: 'typing', at: Date.now(), chat: address.chat, text: '', key: '' }),
  };
}
