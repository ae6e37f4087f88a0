/** The Slack adapter, by the SDK over loopback, against the contract that every chat adapter keeps. */
import { createSlackAdapter } from '../../../adapters/slack/index.ts';
import { adapterContract, type ContractDriver } from '../../support/adapter-contract.ts';
import { startSlackApi } from '../../support/slack-api.ts';
import { quick } from './quick.ts';
import { alice, channel, dm, general, toSettings } from './scene.ts';

const robot = 'U0ROBOT';

adapterContract('slack', async (): Promise<ContractDriver> => {
  const api = await startSlackApi();
  api.user(alice, { name: 'Alice' });
  api.user(robot, { name: 'Robot', bot: true });
  const group = api.channel(general);
  const send = 'chat.postMessage';
  return {
    create: (context) => createSlackAdapter(toSettings(api), context, quick),
    secrets: [api.botToken, api.appToken, 'secretOfTheBot', 'secretOfTheApp'],
    mention: api.mention,
    dm,
    group: channel,
    post({ by, in: where, text, repliesToBot }) {
      const person = { person: alice, self: api.me.userId, bot: robot }[by];
      const newest = api.sent.at(-1)?.ts;
      (where === 'dm' ? api.dm(person) : group.as(person)).says(text, repliesToBot && newest !== undefined ? { thread: newest } : {});
    },
    redeliver: () => api.redeliver(),
    everyOtherKind() {
      const chat = api.dm(alice);
      const ts = chat.says('an offer');
      chat.edits(ts, 'a better offer');
      chat.reacts(ts, 'eyes');
      chat.commands('/hermes', 'do it');
      group.as(alice).joins();
      const message = { ts, text: 'Sure?' };
      api.pushPayload('interactive', { type: 'block_actions', user: { id: alice }, team: { id: api.team }, channel: { id: dm.chat }, message, actions: [{ action_id: 'a', value: 'yes', action_ts: '1767100000.000001' }] });
      chat.says('look', { extra: { subtype: 'file_share', files: [{ id: 'F1', name: 'x.png', mimetype: 'image/png', size: 3, url_private: `${api.url}files/x.png` }] } });
      return 7;
    },
    seen: ({ chat }) => api.sent.filter((sent) => sent.channel === chat).map(({ ts, text }) => ({ messageId: ts, text })),
    deletes: (_address, messageId) => api.dm(alice).deletes(messageId),
    async strikes(fault) {
      if (fault === 'limited') api.fail(send, { retryAfter: 33 });
      if (fault === 'server_error') api.fail(send, { status: 502, body: '<html>Bad Gateway</html>' });
      if (fault === 'refused') api.fail(send, { error: 'restricted_something_new' });
      if (fault === 'gone') api.closeChannel(dm.chat, 'channel_not_found');
      if (fault === 'cut_after') api.fail(send, { dropAfter: true });
      if (fault === 'unreachable') await api.shut();
    },
    unconfirmed: () => api.unacked().length,
    noticeableCalls: () => api.calls.filter(({ method }) => /^(chat|reactions|assistant|files|file$|upload)/.test(method)).length,
    connections: () => api.connections(),
    file(bytes, declared) {
      const ref = api.addFile('F9', bytes, { size: declared });
      return { kind: 'file', ref, name: 'doc', mime: 'application/octet-stream', size: declared };
    },
    close: () => api.close(),
  };
});
