/**
 * The reply of one turn while it grows. Each segment of it is an outbox part; where the platform can edit, the part in progress
 * is shown as a preview: its row is committed before its first message is sent, so a death cannot orphan the message.
 *
 * text -> (after half a second) preview opened -> edits at the platform's pace -> segment or end: the row gets its final text
 * and is delivered like any part, as the last edit. A preview that fails is simply not shown; the final still goes out.
 */
import type { Adapter } from '../contract/adapter.ts';
import type { Button } from '../contract/message.ts';
import type { Log } from '../contract/log.ts';
import { toMessage } from '../contract/errors.ts';
import type { ClosedPreview, NewPart, Origin, Outbox, PartPayload, PartRow } from '../store/outbox.ts';
import type { Gates } from './gates.ts';
import type { OutgoingFile } from './outgoing-files.ts';

export interface LiveReply {
  text(delta: string): void;
  /** What goes on while there is no text yet; shown in the place where the text will stand. */
  progress(line: string): void;
  /** The text since the last segment is void. */
  retract(): void;
  /** The text of this segment is final: a message of its own. */
  segment(text: string): Promise<void>;
  /** A message beside the answer (a question, a notice). */
  say(text: string, buttons?: Button[][]): Promise<void>;
  /** No more previews, and none in flight once it resolves: the turn has ended here without an outcome. */
  drop(): Promise<void>;
  /** No more previews. Gives what commitTurn writes for the final text and the files behind it; empty text gives no parts. */
  finish(text: string, files: OutgoingFile[]): Promise<{ parts: NewPart[]; preview: ClosedPreview | null }>;
}

export type ToolProgress = 'off' | 'new' | 'all';

export interface LiveReplyOptions {
  outbox: Outbox;
  adapter: Adapter;
  gates: Gates;
  origin: Origin;
  /** Address, format and reply target of the parts. `replyTo` is kept on all parts or the first, as configured. */
  base: Omit<PartPayload, 'text' | 'replyTo'>;
  replyTo: { messageId: string; parts: 'first' | 'all' } | null;
  /** Show the growing text. */
  isStreaming: boolean;
  /** Lines of progress: none, one for each new one, or every one. */
  toolProgress: ToolProgress;
  isGroup: boolean;
  /** No preview before so many characters. */
  bufferChars: number;
  kick(): void;
  now(): number;
  log: Log;
  crash(label: string): void;
}

/** A reply that is complete within this time is sent once, without a preview. */
const firstPreviewMs = 500;
const shownLines = 8;

export function createLiveReply(options: LiveReplyOptions): LiveReply {
  const { outbox, adapter, gates, origin, base, isGroup, now, log } = options;
  const split = adapter.split ?? ((text: string) => [text]);
  const canEdit = adapter.send !== undefined && adapter.edit !== undefined;
  const editGap = (isGroup ? adapter.pace?.previewGroupMs : adapter.pace?.previewDmMs) ?? 1200;

  // Parts of a turn that a former process began are there already.
  const existing = outbox.ofOrigin(origin.kind, origin.id);
  let nextPart = existing.length;
  let row: PartRow | null = existing.findLast(({ state }) => state === 'preview') ?? null;
  let growing = '';
  let doing: string[] = [];
  let shown = '';
  /** When the message was last sent or edited: its final text keeps the distance too. */
  let shownAt = -Infinity;
  /** The first message may or may not be there: a second try could make a second one. */
  let isLost = false;
  let timer: NodeJS.Timeout | null = null;
  let isOver = false;
  // One call after another: an edit must not overtake the message that it edits.
  let work: Promise<void> = Promise.resolve();

  const enqueue = (job: () => Promise<void>) => {
    work = work.then(job).catch((thrown) => log.warn('a preview was not shown', { turn: origin.turnId, error: toMessage(thrown) }));
    return work;
  };

  const payload = (text: string, part: number, buttons?: Button[][]): PartPayload => {
    const isQuoting = options.replyTo && (options.replyTo.parts === 'all' || part === 0);
    return { ...base, text, ...(isQuoting && options.replyTo ? { replyTo: options.replyTo.messageId } : {}), ...(buttons ? { buttons } : {}) };
  };

  const schedule = (ms: number) => {
    if (timer || isOver || !canEdit) return;
    timer = setTimeout(() => {
      timer = null;
      void enqueue(refresh);
    }, ms);
  };

  /** What the part in progress looks like now; empty while there is nothing to show. */
  const look = (): string => {
    const isReadable = options.isStreaming && growing.trim().length >= options.bufferChars;
    return (isReadable ? split(growing)[0] : doing.slice(-shownLines).join('\n')) ?? '';
  };

  const refresh = async () => {
    if (isOver || isLost || look() === '') return;
    const { platform, chat } = base.address;
    // A first message must not overtake parts that still wait.
    if (gates.isShut(base.address) || (!row?.messageId && outbox.hasOpen(platform, chat))) return schedule(editGap);
    const text = look();
    if (text === shown) return;
    if (!row) {
      row = await outbox.openPreview({ origin, part: nextPart, payload: payload(text, nextPart) }, now());
      nextPart = Math.max(nextPart, row.part + 1);
      options.crash('preview_opened');
    }
    const outbound = { ...payload(text, row.part), idempotencyKey: `hg${row.id}` };
    const signal = AbortSignal.timeout(15_000);
    const outcome = row.messageId && adapter.edit ? await adapter.edit(row.messageId, outbound, signal) : await adapter.send?.(outbound, signal);
    if (outcome?.status === 'sent') {
      shown = text;
      shownAt = now();
      if (!row.messageId) {
        row = { ...row, messageId: outcome.messageId };
        await outbox.previewSent(row.id, outcome.messageId);
      }
    } else if (outcome?.status === 'rate_limited') gates.limit(base.address, outcome.scope, outcome.retryAfterMs);
    else {
      // The final text tells; a preview that cannot be shown is not worth a second try.
      isLost = !row.messageId;
      if (outcome?.status === 'permanent' && outcome.targetGone) gates.noteGone(base.address);
      return;
    }
    options.crash('preview_shown');
    if (look() !== shown) schedule(editGap);
  };

  /** Turns what stands into the parts of a finished text; the first of them takes over the preview's row. */
  const settle = (text: string) => {
    const texts = text.trim() === '' ? [] : split(text);
    const taken = row;
    const [first] = texts;
    const isShown = first === shown;
    const preview = taken && first !== undefined ? { id: taken.id, payload: { ...payload(first, taken.part), ...(isShown ? { isShown: true as const } : {}) }, notBefore: isShown ? 0 : Math.max(0, shownAt + editGap) } : null;
    const parts = texts.slice(preview ? 1 : 0).map((each): NewPart => {
      const part = nextPart++;
      return { origin, part, payload: payload(each, part) };
    });
    return { parts, preview };
  };

  const pause = () => {
    if (timer) clearTimeout(timer);
    timer = null;
  };

  const close = async () => {
    isOver = true;
    pause();
    await work;
  };

  return {
    text(delta) {
      growing += delta;
      if (options.isStreaming) schedule(row ? editGap : firstPreviewMs);
    },
    progress(line) {
      if (options.toolProgress === 'off' || (options.toolProgress === 'new' && doing.at(-1) === line)) return;
      doing.push(line);
      schedule(row ? editGap : firstPreviewMs);
    },
    retract() {
      growing = '';
    },
    segment(text) {
      pause();
      return enqueue(async () => {
        const { parts, preview } = settle(text);
        // Asked for in one tick, so both are written in one transaction.
        await Promise.all([preview && outbox.closePreview(preview.id, preview.payload, preview.notBefore), parts.length > 0 && outbox.add(parts, now())]);
        // A preview without a final text stays as it is for the next segment to use.
        if (preview) row = null;
        growing = '';
        doing = [];
        shown = '';
        isLost = false;
        if (preview || parts.length > 0) options.kick();
      });
    },
    say(text, buttons) {
      return enqueue(async () => {
        const part = nextPart++;
        await outbox.add([{ origin, part, payload: payload(text, part, buttons) }], now());
        options.kick();
      });
    },
    drop: close,
    async finish(text, files) {
      await close();
      const { parts, preview } = settle(text);
      const attached = files.map((media): NewPart => {
        const part = nextPart++;
        return { origin, part, payload: { ...payload('', part), media } };
      });
      return { parts: [...parts, ...attached], preview };
    },
  };
}

/** For turns whose answer is read from the turn: nothing is shown, nothing is kept. */
export const noReply: LiveReply = {
  text() {},
  progress() {},
  retract() {},
  async segment() {},
  async say() {},
  async drop() {},
  finish: async () => ({ parts: [], preview: null }),
};
