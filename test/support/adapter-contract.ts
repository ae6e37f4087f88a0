/**
 * What every chat adapter promises, as one suite. An adapter's test brings a driver: its real SDK against a simulator of its platform,
 * and hands that simulator's gestures over in the words below.
 */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Adapter, Receipt } from '../../src/contract/adapter.ts';
import { HermesError } from '../../src/contract/errors.ts';
import type { Address, Attachment, InboundMessage, OutboundPart } from '../../src/contract/message.ts';
import { createTestContext, type TestContext } from './adapter-contract-context.ts';
import { waitFor } from './wait-for.ts';

export interface Post {
  by: 'person' | 'self' | 'bot';
  in: 'dm' | 'group';
  text: string;
  /** It answers a message of this bot. */
  repliesToBot?: boolean;
}

/** What happens to the next call that sends a message. `unreachable` lasts to the end of the test. */
export type SendFault = 'limited' | 'server_error' | 'refused' | 'gone' | 'cut_after' | 'unreachable';

export interface ContractDriver {
  /** A fresh adapter that talks to the simulator; its retries should be quick. */
  create(context: TestContext): Adapter;
  /** Values that must not appear in any outcome, log line or report. */
  readonly secrets: readonly string[];
  /** How a person writes the bot's name so that it is a mention. */
  readonly mention: string;
  readonly dm: Address;
  readonly group: Address;
  post(post: Post): unknown;
  /** The newest event comes once more, as when the platform missed its confirmation. */
  redeliver(): unknown;
  /** One event of every other kind that can reach the adapter (edit, button, reaction, join ...), by somebody. Returns how many. */
  everyOtherKind(): Promise<number> | number;
  /** What people see of the bot there, oldest first, as it is now. */
  seen(address: Address): { messageId: string; text: string }[];
  /** A message of the bot is deleted. */
  deletes(address: Address, messageId: string): unknown;
  strikes(fault: SendFault): unknown;
  /** Events that the platform still waits to see confirmed. Absent where it knows no confirmation. */
  unconfirmed?(): number;
  /** Calls that somebody could notice: messages, typing, reactions, answers to buttons, downloads. */
  noticeableCalls(): number;
  /** Connections that the platform sees open. */
  connections(): number;
  /** A file on the platform; `declared` is the size it claims (null: none). */
  file(bytes: Uint8Array, declared: number | null): Attachment;
  close(): Promise<void>;
}

interface Scene {
  driver: ContractDriver;
  adapter: Adapter;
  context: TestContext;
  received: InboundMessage[];
  /** Waits for the message with this text. */
  hears(text: string): Promise<InboundMessage>;
}

type Answer = (message: InboundMessage) => Promise<Receipt>;

export function adapterContract(name: string, setup: () => Promise<ContractDriver>): void {
  async function open(answer?: Answer): Promise<Scene> {
    const driver = await setup();
    const context = createTestContext();
    const adapter = driver.create(context);
    onTestFinished(async () => {
      await adapter.stop();
      await driver.close();
    });
    const received: InboundMessage[] = [];
    await adapter.start(async (message) => {
      received.push(message);
      return answer ? answer(message) : { status: 'accepted', id: received.length };
    });
    const hears = (text: string): Promise<InboundMessage> => waitFor(`"${text}" to be received`, () => received.find((message) => message.text.includes(text)));
    return { driver, adapter, context, received, hears };
  }

  describe(`${name} keeps the adapter contract`, () => {
    describe('coming in', () => {
      test('a direct message and a group message are told apart', async () => {
        const { driver, hears } = await open();
        await driver.post({ by: 'person', in: 'dm', text: 'in private' });
        await driver.post({ by: 'person', in: 'group', text: `${driver.mention} in public` });
        expect(await hears('in private')).toMatchObject({ kind: 'message', chatType: 'dm', addressed: true, address: driver.dm, sender: { isBot: false } });
        const inPublic = await hears('in public');
        expect(inPublic.chatType).not.toBe('dm');
        expect(inPublic).toMatchObject({ address: driver.group, addressed: true, text: 'in public' });
      });

      test('in a group only a mention or an answer to the bot is addressed to it', async () => {
        const { driver, adapter, hears } = await open();
        await adapter.send?.(part(driver.group, 'I said this'), AbortSignal.timeout(5000));
        await driver.post({ by: 'person', in: 'group', text: 'among ourselves' });
        await driver.post({ by: 'person', in: 'group', text: 'what did you say', repliesToBot: true });
        expect((await hears('among ourselves')).addressed).toBe(false);
        const answer = await hears('what did you say');
        expect(answer).toMatchObject({ addressed: true, quote: { text: 'I said this' } });
      });

      test('its own messages are not heard, and other bots are marked', async () => {
        const { driver, received, hears } = await open();
        await driver.post({ by: 'self', in: 'group', text: 'my own words' });
        await driver.post({ by: 'bot', in: 'group', text: `${driver.mention} from a robot` });
        await driver.post({ by: 'person', in: 'dm', text: 'last' });
        await hears('last');
        expect(received.filter((message) => !message.sender.isBot).map(({ text }) => text)).toEqual(['last']);
        expect(received.map(({ text }) => text)).not.toContain('my own words');
      });

      test('the same event has the same key, another one another', async () => {
        const { driver, received, hears } = await open();
        await driver.post({ by: 'person', in: 'dm', text: 'once' });
        await hears('once');
        await driver.redeliver();
        await driver.post({ by: 'person', in: 'dm', text: 'then' });
        const then = await hears('then');
        const once = received.filter(({ text }) => text === 'once');
        expect(new Set(once.map(({ key }) => key)).size).toBe(1);
        expect(once[0]?.key).not.toBe(then.key);
      });

      test('what receive() could not keep is not confirmed, and comes again', async () => {
        const waiting: (number | undefined)[] = [];
        const scene = await open(async () => {
          waiting.push(scene.driver.unconfirmed?.());
          if (waiting.length === 1) throw new HermesError('STORE_UNAVAILABLE', 'The disk is full; free some space.');
          return { status: 'accepted', id: 1 };
        });
        const { driver, received } = scene;
        if (!driver.unconfirmed) return;
        await driver.post({ by: 'person', in: 'dm', text: 'keep me' });
        await waitFor('the second delivery', () => received.length >= 2);
        expect(waiting.slice(0, 2)).toEqual([1, 1]);
        expect(received[1]?.key).toBe(received[0]?.key);
        await waitFor('the confirmation', () => driver.unconfirmed?.() === 0);
      });

      test('somebody who is refused causes nothing that anyone could notice, by whatever gesture', async () => {
        const { driver, adapter, received, hears } = await open(async () => ({ status: 'refused', reason: 'not_allowed' }));
        const before = driver.noticeableCalls();
        await driver.post({ by: 'person', in: 'dm', text: 'let me in' });
        const count = (await driver.everyOtherKind()) + 1;
        await waitFor('every gesture', () => received.length >= count);
        await driver.post({ by: 'person', in: 'group', text: 'and here' });
        await hears('and here');
        // A message of ours follows whatever the gestures may have caused; it is the only thing to be noticed.
        await adapter.send?.(part(driver.group, 'nothing'), AbortSignal.timeout(5000));
        expect(new Set(received.map(({ kind }) => kind)).size).toBeGreaterThan(1);
        expect(driver.noticeableCalls()).toBe(before + 1);
      });

      test('after twenty restarts one message is received once', async () => {
        const { driver, adapter, received, hears } = await open();
        for (let round = 0; round < 20; round += 1) {
          await adapter.stop();
          await adapter.start(async (message) => {
            received.push(message);
            return { status: 'accepted', id: received.length };
          });
        }
        await driver.post({ by: 'person', in: 'dm', text: 'still one of you?' });
        await hears('still one of you?');
        await driver.post({ by: 'person', in: 'dm', text: 'good' });
        await hears('good');
        expect(received.map(({ text }) => text)).toEqual(['still one of you?', 'good']);
      });

      test('stop takes away what start has opened', async () => {
        const driver = await setup();
        onTestFinished(() => driver.close());
        const before = openResources();
        const context = createTestContext();
        const adapter = driver.create(context);
        await adapter.stop();
        await adapter.start(async () => ({ status: 'accepted', id: 1 }));
        expect(driver.connections()).toBeGreaterThan(0);
        await adapter.stop();
        await adapter.stop();
        expect(context.claimed).toEqual([]);
        await waitFor('the connections to be closed', () => driver.connections() === 0);
        await waitFor('timers and sockets to be gone', () => openResources() <= before);
      });
    });

    describe('going out', () => {
      test('a long text arrives whole, in parts that the platform takes', async () => {
        const { driver, adapter } = await open();
        const words = Array.from({ length: 3000 }, (_, index) => `w${index}${index % 7 === 0 ? '🙂' : ''}${index % 90 === 89 ? '\n\n' : ''}`);
        const parts = adapter.split?.(words.join(' ')) ?? [];
        expect(parts.length).toBeGreaterThan(1);
        for (const text of parts) expect(await adapter.send?.(part(driver.dm, text), AbortSignal.timeout(5000))).toMatchObject({ status: 'sent' });
        const told = driver.seen(driver.dm).map(({ text }) => text).join(' ');
        expect(told.split(/\s+/)).toEqual(words.join(' ').split(/\s+/));
      });

      test('an edit changes the message in place; an equal one is success, one of a deleted message is told apart', async () => {
        const { driver, adapter } = await open();
        const signal = AbortSignal.timeout(5000);
        const sent = await adapter.send?.(part(driver.dm, 'draft'), signal);
        const messageId = sent?.status === 'sent' ? sent.messageId : '';
        expect(await adapter.edit?.(messageId, part(driver.dm, 'final'), signal)).toEqual({ status: 'sent', messageId });
        expect(await adapter.edit?.(messageId, part(driver.dm, 'final'), signal)).toEqual({ status: 'sent', messageId });
        expect(driver.seen(driver.dm).map(({ text }) => text)).toEqual(['final']);
        await driver.deletes(driver.dm, messageId);
        expect(await adapter.edit?.(messageId, part(driver.dm, 'too late'), signal)).toMatchObject({ status: 'edit_gone' });
      });

      const outcomes: [SendFault, Record<string, unknown>, number][] = [
        ['limited', { status: 'rate_limited', retryAfterMs: expect.any(Number) }, 0],
        ['server_error', { status: 'transient' }, 0],
        ['refused', { status: 'permanent' }, 0],
        ['gone', { status: 'permanent', targetGone: true }, 0],
        ['cut_after', { status: 'unknown' }, 1],
        ['unreachable', { status: 'transient' }, 0],
      ];
      test.each(outcomes)('a send that is %s is %o, and its error holds no secret', async (fault, outcome, arrived) => {
        const { driver, adapter, context } = await open();
        await driver.strikes(fault);
        const got = await adapter.send?.(part(driver.dm, 'hello'), AbortSignal.timeout(5000));
        expect(got).toMatchObject(outcome);
        expect(driver.seen(driver.dm)).toHaveLength(arrived);
        const said = JSON.stringify([got, context.lines, context.reports]);
        for (const secret of driver.secrets) expect(said).not.toContain(secret);
      });

      test('a file is fetched up to the size that was asked for, whatever it declares', async () => {
        const { driver, adapter } = await open();
        const bytes = new Uint8Array(5000).fill(7);
        const fetched = (declared: number | null, max: number) => adapter.download?.(driver.file(bytes, declared), max, AbortSignal.timeout(5000));
        expect(await fetched(5000, 5000)).toEqual(Buffer.from(bytes));
        const tooLarge = expect.objectContaining({ code: 'ATTACHMENT_TOO_LARGE' });
        await expect(fetched(5000, 4999)).rejects.toEqual(tooLarge);
        await expect(fetched(10, 4999)).rejects.toEqual(tooLarge);
        await expect(fetched(null, 4999)).rejects.toEqual(tooLarge);
      });
    });
  });
}

let parts = 0;
function part(address: Address, text: string): OutboundPart {
  parts += 1;
  return { address, text, format: 'markdown', idempotencyKey: `contract-${parts}` };
}

/** Timers and sockets that keep this process busy. */
function openResources(): number {
  return process.getActiveResourcesInfo().filter((kind) => /Timeout|TCP|TLS|Pipe|GetAddrInfo/.test(kind) && kind !== 'PipeWrap').length;
}
