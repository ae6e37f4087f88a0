/** The Telegram adapter, by grammY over loopback, against the contract that every chat adapter keeps. */
import { createTelegramAdapter } from '../../../adapters/telegram/index.ts';
import { adapterContract, type ContractDriver } from '../../support/adapter-contract.ts';
import { startTelegramApi } from '../../support/telegram-api.ts';
import { quick } from './quick.ts';

const alice = 1001;
const robot = 1002;
const groupId = -1001;

adapterContract('telegram', async (): Promise<ContractDriver> => {
  const api = await startTelegramApi();
  api.user(alice, { name: 'Alice' });
  api.user(robot, { name: 'Robot', bot: true });
  const group = api.group(groupId, { title: 'The group' });
  const account = String(api.me.id);
  const send = 'sendMessage';
  return {
    create: (context) => createTelegramAdapter({ token: api.token, api_root: api.url, mode: 'polling', webhook: { url: null, secret: null } }, context, quick),
    secrets: [api.token, api.token.slice(api.token.indexOf(':') + 1)],
    mention: `@${api.me.username}`,
    dm: { platform: 'telegram', account, chat: String(alice) },
    group: { platform: 'telegram', account, chat: String(groupId) },
    post({ by, in: where, text, repliesToBot }) {
      const person = { person: alice, self: api.me.id, bot: robot }[by];
      const newest = api.sent.at(-1)?.messageId;
      (where === 'dm' ? api.dm(person) : group.as(person)).says(text, repliesToBot && newest !== undefined ? { replyTo: newest } : {});
    },
    redeliver: () => api.push({ ...api.lastPushed() }),
    everyOtherKind() {
      const dm = api.dm(alice);
      const [message, date] = [dm.says('an offer'), Math.floor(Date.now() / 1000)];
      const chat = { id: groupId, type: 'supergroup', title: 'The group' };
      const from = { id: alice, is_bot: false, first_name: 'Alice' };
      dm.edits(message, 'a better offer');
      dm.reacts(message, '👍');
      api.push({ callback_query: { id: '1', from, message: { message_id: message, date, chat: { id: alice, type: 'private' } }, data: 'yes' } });
      api.push({ message: { message_id: 900, date, chat, from, new_chat_members: [from] } });
      dm.sends({ photo: [{ file_id: 'p', file_unique_id: 'p', width: 1, height: 1 }], caption: 'look' });
      return 6;
    },
    seen: ({ chat }) => api.sent.filter((message) => message.chat === Number(chat)).map(({ messageId, text }) => ({ messageId: String(messageId), text })),
    deletes: ({ chat }, messageId) => api.dm(Number(chat)).deletes(Number(messageId)),
    strikes(fault) {
      if (fault === 'limited') api.fail(send, { retryAfter: 33 });
      if (fault === 'server_error') api.fail(send, { status: 502, body: '<html>Bad Gateway</html>' });
      if (fault === 'refused') api.fail(send, { status: 400, description: `Bad Request: something new about ${api.token}` });
      if (fault === 'gone') api.close403(alice);
      if (fault === 'cut_after') api.fail(send, { dropAfter: true });
      return fault === 'unreachable' ? api.shut() : undefined;
    },
    unconfirmed: () => api.unconfirmed.length,
    noticeableCalls: () => api.calls.filter(({ method }) => /^(send|edit|answer|setMessage|file|getFile)/.test(method)).length,
    connections: () => api.connections(),
    file(bytes, declared) {
      api.addFile('doc', bytes, { size: declared });
      return { kind: 'file', ref: 'doc', name: 'doc', mime: 'application/octet-stream', size: declared };
    },
    close: () => api.close(),
  };
});
