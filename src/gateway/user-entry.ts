/** What a message becomes in the transcript: who said it where several people share the session, its files, and what has to be known. */
import type { InboundMessage } from '../contract/message.ts';
import type { UserEntry } from '../contract/transcript.ts';
import type { PartRow } from '../store/outbox.ts';
import type { Media } from './media.ts';

export interface UserEntryOptions {
  turnId: string;
  message: InboundMessage;
  /** Several people speak in this session. */
  isShared: boolean;
  /** Parts of earlier replies of which the agent does not know yet that they did not arrive. */
  undelivered: PartRow[];
  media: Media;
  signal: AbortSignal;
  now: number;
}

/** A message that waited longer is marked, so that the agent does not take old news for new. */
const lateMs = 15 * 60_000;
const quotedChars = 500;
const shownChars = 80;

export async function toUserEntry({ turnId, message, isShared, undelivered, media, signal, now }: UserEntryOptions): Promise<UserEntry> {
  const received = await media.receive(message, signal);
  const { quote } = message;
  const notes = [
    ...undelivered.map(({ payload, state, error }) => `your reply ${quoted(payload.text, shownChars)} ${state === 'dead' ? 'was not delivered' : 'may not have been delivered'} (${error ?? 'no reason known'})`),
    ...(quote ? [`in reply to ${quoted(quote.sender, shownChars)}: ${quoted(quote.text, quotedChars)}`] : []),
    ...(now - message.at > lateMs ? [`sent ${Math.round((now - message.at) / 60_000)} minutes ago`] : []),
  ];
  // Names hold no line breaks, so nobody can speak in another's name.
  const said = isShared ? `${message.sender.name}: ${message.text}` : message.text;
  const text = [said, ...received.text].filter((each) => each !== '').join('\n\n');
  return {
    role: 'user',
    turnId,
    text,
    ...(received.media.length > 0 ? { media: received.media } : {}),
    ...(notes.length > 0 ? { note: notes.join('; ') } : {}),
  };
}

/** As a JSON string: no text that is quoted can end the quotation or begin a line of its own. */
function quoted(text: string, chars: number): string {
  return JSON.stringify(text.slice(0, chars).toWellFormed());
}
