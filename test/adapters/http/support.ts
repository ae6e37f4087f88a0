/** The HTTP adapter on a free port, and a small gateway behind it that plays turns and knows its messages again by their keys. */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createHttpAdapter, type HttpAdapter, type HttpDeps, type HttpListen } from '../../../adapters/http/index.ts';
import type { AdapterContext, Receipt, Receive, TurnObserver } from '../../../src/contract/adapter.ts';
import type { InboundMessage } from '../../../src/contract/message.ts';
import type { TurnEvent, TurnOutcome } from '../../../src/contract/turn.ts';
import { silentLog } from '../../../src/lib/log.ts';

export const key = 'k-0123456789abcdef0123456789abcdef';
export const bearer = { authorization: `Bearer ${key}` };

/** What a script can do with the turn of one message. */
export interface Stage {
  message: InboundMessage;
  tell(event: TurnEvent): void;
  /** Ends the turn. */
  answer(text: string, rest?: Partial<TurnOutcome>): void;
}

export interface PlayedGateway {
  receive: Receive;
  /** Every message that became a turn, in order. */
  messages: InboundMessage[];
  /** How many came again with a key that was known. */
  repeats: number;
}

/** Turns by a script: one turn for each key; who comes again follows it or gets its end. */
export function playGateway(script: (stage: Stage) => void | Promise<void>): PlayedGateway {
  const turns = new Map<string, { id: number; observers: TurnObserver[]; outcome: TurnOutcome | null }>();
  const played: PlayedGateway = { messages: [], repeats: 0, receive: async () => ({ status: 'refused', reason: 'unsupported' }) };
  const receive: Receive = async (message, observer): Promise<Receipt> => {
    await Promise.resolve();
    const known = turns.get(message.key);
    if (known) {
      played.repeats += 1;
      if (known.outcome) observer?.onDone(known.outcome);
      else if (observer) known.observers.push(observer);
      return { status: 'duplicate', id: known.id };
    }
    const turn: { id: number; observers: TurnObserver[]; outcome: TurnOutcome | null } = { id: turns.size + 1, observers: observer ? [observer] : [], outcome: null };
    turns.set(message.key, turn);
    played.messages.push(message);
    const stage: Stage = {
      message,
      tell: (event) => turn.observers.forEach((each) => each.onEvent(event)),
      answer(text, rest = {}) {
        const usage = { input: 11, output: 7, cached: 3, requests: 1 };
        turn.outcome = { status: 'answered', text, model: 'offline/stand-in', sessionId: '20260101_000000_abcdefgh', turnId: 't1', usage, ...rest };
        for (const each of turn.observers) each.onDone(turn.outcome);
      },
    };
    void Promise.resolve(script(stage));
    return { status: 'accepted', id: turn.id };
  };
  return Object.assign(played, { receive });
}

/** Says the words of `text` one by one and answers with it. */
export function sayWords({ tell, answer }: Stage, text: string): void {
  tell({ type: 'started', turnId: 't1', sessionId: 's1', model: 'offline/stand-in' });
  for (const word of text.split(/(?<= )/)) tell({ type: 'text', delta: word });
  answer(text);
}

export const echo = (): PlayedGateway => playGateway((stage) => sayWords(stage, `You said: ${stage.message.text}`));

export function memoryState(rows = new Map<string, string>()): AdapterContext['state'] {
  return {
    get: async (name) => rows.get(name),
    set: async (name, value) => void rows.set(name, value),
    list: async (prefix) => [...rows].filter(([name]) => name.startsWith(prefix)).map(([name, value]) => ({ key: name, value })),
  };
}

export interface Started {
  adapter: HttpAdapter;
  url: string;
  port: number;
  messages: InboundMessage[];
}

export interface StartOptions {
  gateway?: PlayedGateway;
  config?: Partial<HttpListen>;
  deps?: Partial<HttpDeps>;
  state?: AdapterContext['state'];
}

export async function startHttp({ gateway = echo(), config = {}, deps = {}, state = memoryState() }: StartOptions = {}): Promise<Started> {
  const context: AdapterContext = {
    log: silentLog,
    home: '/nowhere',
    state,
    commands: () => [],
    report: () => undefined,
    mount: () => () => undefined,
    isAllowed: () => true,
    claimToken: () => () => undefined,
    chatMoved: async () => {},
  };
  const adapter = createHttpAdapter({ host: '127.0.0.1', port: 0, allowed_hosts: [], ...config }, context, {
    key,
    ready: () => ({ ready: true, adapters: { http: { state: 'up', account: 'x' } } }),
    models: () => ['offline/stand-in', 'openai/gpt-5-mini'],
    pageDir: join(import.meta.dirname, '../../../src/web'), // unbuilt, but there
    log: silentLog,
    ...deps,
  });
  onTestFinished(() => adapter.stop());
  await adapter.start(gateway.receive);
  const url = adapter.url();
  return { adapter, url, port: Number(new URL(url).port), messages: gateway.messages };
}

export function chat(url: string, body: unknown, headers: Record<string, string> = bearer): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) });
}

/** The shape of every refusal. */
export interface ErrorBody {
  error: { message: string; type: string; param: string | null; code: string };
}

/** Everything that comes, in order. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
