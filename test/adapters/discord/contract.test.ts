/** The Discord adapter, by the SDK over loopback, against the contract that every chat adapter keeps. */
import { createDiscordAdapter } from '../../../adapters/discord/index.ts';
import { adapterContract, type ContractDriver } from '../../support/adapter-contract.ts';
import { startDiscordApi } from '../../support/discord-api.ts';
import { quick } from './quick.ts';

adapterContract('discord', async (): Promise<ContractDriver> => {
  const api = await startDiscordApi();
  const alice = api.user('Alice');
  const robot = api.user('Robot', { bot: true });
  const channel = api.guild().channel('general');
  const direct = api.dm(alice);
  const account = api.me.id;
  return {
    create: (context) => createDiscordAdapter({ token: api.token, api_root: api.url, auto_thread: false, allowed_roles: [] }, context, quick),
    secrets: [api.token, api.token.slice(api.token.lastIndexOf('.') + 1)],
    mention: '<@bot>',
    dm: { platform: 'discord', account, chat: direct.channel },
    group: { platform: 'discord', account, chat: channel.id },
    post({ by, in: where, text, repliesToBot }) {
      const person = { person: alice, self: api.me, bot: robot }[by];
      const newest = api.sent.at(-1)?.id;
      const conversation = where === 'dm' && by === 'person' ? direct : channel.as(person);
      conversation.says(text, repliesToBot && newest !== undefined ? { replyTo: newest } : {});
    },
    redeliver: () => api.gateway.repeat(),
    everyOtherKind() {
      const message = direct.says('an offer');
      direct.edits(message, 'a better offer');
      direct.reacts(message, '👍');
      direct.unreacts(message, '👍');
      direct.uses('status');
      api.gateway.dispatch('INTERACTION_CREATE', { id: message, application_id: account, token: 't', type: 3, channel_id: direct.channel, user: alice, message: { id: message }, data: { custom_id: 'yes' } });
      channel.as(alice).says('', { extra: { type: 7 } });
      channel.as(alice).says('', { attachments: [{ id: '1', filename: 'a.png', url: `${api.url}/a.png`, size: 5 }] });
      return 8;
    },
    seen: ({ chat }) => api.sent.filter((message) => message.channel === chat).map(({ id, content }) => ({ messageId: id, text: content })),
    deletes: ({ chat }, messageId) => api.channel(chat).as(api.me).deletes(messageId),
    strikes(fault) {
      if (fault === 'limited') api.fail('send', { retryAfter: 33 });
      if (fault === 'server_error') api.fail('send', { status: 502, body: '<html>Bad Gateway</html>' });
      if (fault === 'refused') api.fail('send', { status: 400, code: 50035, message: `Invalid Form Body about ${api.token}` });
      if (fault === 'gone') api.closeChannel(direct.channel, 50007);
      if (fault === 'cut_after') api.fail('send', { dropAfter: true });
      return fault === 'unreachable' ? api.shut() : undefined;
    },
    // What only the one who pressed or commanded can see (a refusal) disturbs nobody; Discord would show its own otherwise.
    noticeableCalls: () => api.calls.filter(({ name, body }) => /^(send|edit|typing|react|thread|file)$/.test(name) || (name === 'callback' && body['type'] !== 4)).length,
    connections: () => api.connections(),
    file(bytes, declared) {
      return { kind: 'file', ref: api.addFile('doc', bytes, declared !== null), name: 'doc', mime: 'application/octet-stream', size: declared };
    },
    close: () => api.close(),
  };
});
