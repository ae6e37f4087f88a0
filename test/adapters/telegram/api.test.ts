/** The table that says what a refusal means, on the words that Telegram really uses. */
import { GrammyError, HttpError } from 'grammy';
import { describe, expect, test } from 'vitest';
import { createTelegramApi, toReason, toSendOutcome } from '../../../adapters/telegram/api.ts';
import { startTelegramApi } from '../../support/telegram-api.ts';

const refusal = (code: number, description: string, parameters: object = {}): GrammyError => new GrammyError('failed', { ok: false, error_code: code, description, parameters }, 'sendMessage', {});

const gone = [
  'Forbidden: bot was blocked by the user',
  'Forbidden: user is deactivated',
  'Forbidden: bot was kicked from the group chat',
  'Forbidden: bot was kicked from the supergroup chat',
  'Forbidden: bot is not a member of the channel chat',
  "Forbidden: bot can't initiate conversation with a user",
  "Forbidden: bot can't send messages to bots",
  'Forbidden: the group chat was deleted',
].map((text) => [403, text] as const);
const goneToo = ['chat not found', 'group chat was deactivated', 'PEER_ID_INVALID', 'CHAT_WRITE_FORBIDDEN', 'not enough rights to send text messages to the chat', 'have no rights to send a message'].map(
  (text) => [400, `Bad Request: ${text}`] as const,
);
const forGood = ['message is too long', 'message thread not found', 'TOPIC_CLOSED', 'BUTTON_DATA_INVALID', 'wrong file identifier/HTTP URL specified', 'message to be replied not found', 'something never seen'].map(
  (text) => [400, `Bad Request: ${text}`] as const,
);

describe('a refusal', () => {
  test.each([...gone, ...goneToo])('%i %s: the chat is gone', (code, text) => {
    expect(toSendOutcome(refusal(code, text))).toMatchObject({ status: 'permanent', targetGone: true });
  });

  test.each([...forGood, [401, 'Unauthorized'], [404, 'Not Found'], [413, 'Request Entity Too Large'], [418, 'what']] as const)('%i %s: never again, but the chat is there', (code, text) => {
    expect(toSendOutcome(refusal(code, text))).toEqual({ status: 'permanent', error: expect.stringContaining(text) });
  });

  test.each([
    [500, 'Internal Server Error'],
    [502, 'Bad Gateway'],
    [503, 'Service Unavailable'],
    [504, 'Gateway Timeout'],
    [408, 'Request Timeout'],
  ])('%i %s: later', (code, text) => {
    expect(toSendOutcome(refusal(code, text))).toMatchObject({ status: 'transient' });
  });

  test('a 429 says how long, in its parameters or its words', () => {
    const limited = (retryAfterMs: number) => ({ status: 'rate_limited', scope: 'chat', retryAfterMs });
    expect(toSendOutcome(refusal(429, 'Too Many Requests: retry after 33', { retry_after: 33 }))).toEqual(limited(33_000));
    expect(toSendOutcome(refusal(429, 'Too Many Requests: retry after 149'))).toEqual(limited(149_000));
    expect(toSendOutcome(refusal(429, 'Too Many Requests'))).toEqual(limited(5000));
  });

  test.each(['message to edit not found', "message can't be edited", 'MESSAGE_ID_INVALID'])('of an edit, %s: the message is gone', (text) => {
    expect(toSendOutcome(refusal(400, `Bad Request: ${text}`), '7')).toMatchObject({ status: 'edit_gone' });
    expect(toSendOutcome(refusal(400, `Bad Request: ${text}`))).toMatchObject({ status: 'permanent' });
  });

  test('of an edit that changes nothing is success', () => {
    expect(toSendOutcome(refusal(400, 'Bad Request: message is not modified: specified new message content ...'), '7')).toEqual({ status: 'sent', messageId: '7' });
  });
});

describe('no answer', () => {
  const api = (port: number) => createTelegramApi({ token: '1:secret', apiRoot: `http://127.0.0.1:${port}/` });

  test('from a port where nobody listens: without effect', async () => {
    const error: unknown = await api(1).raw.getMe().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HttpError);
    expect(toSendOutcome(error)).toEqual({ status: 'transient', error: expect.stringContaining('ECONNREFUSED') });
  });

  test('from a host that does not exist: without effect', async () => {
    const error: unknown = await createTelegramApi({ token: '1:secret', apiRoot: 'http://nowhere.invalid' }).raw.getMe().catch((thrown: unknown) => thrown);
    expect(toSendOutcome(error)).toMatchObject({ status: 'transient' });
  });

  test.each([{ dropBefore: true }, { dropAfter: true }, { body: '{"ok":tr' }, { body: '<html>hello</html>' }])('after the request was written: %j may have had an effect', async (fault) => {
    const server = await startTelegramApi();
    const client = createTelegramApi({ token: server.token, apiRoot: server.url });
    server.user(5);
    server.fail('sendMessage', fault);
    const error: unknown = await client.raw.sendMessage({ chat_id: 5, text: 'hi' }).catch((thrown: unknown) => thrown);
    expect(toSendOutcome(error)).toMatchObject({ status: 'unknown' });
    expect(toReason(error)).not.toContain(server.token);
    client.close();
    await server.close();
  });
});
