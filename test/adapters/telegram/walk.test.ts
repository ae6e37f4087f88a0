/** Telegram through the built daemon: what only shows when adapter, gateway and store work together. */
import { expect, test } from 'vitest';
import { createRig } from '../../support/crash-rig.ts';
import { waitFor } from '../../support/wait-for.ts';

test('a group that migrates keeps its session, whoever writes first', async () => {
  const rig = await createRig({ telegram: { allowed_users: [1], allowed_chats: [-55, -10055] } });
  await rig.start();
  rig.telegram.user(1);
  rig.telegram.group(-55).as(1).says('@hermes_test_bot before');
  await rig.telegram.group(-55).as(1).shouldSee('answer to before');
  rig.telegram.migrate(-55, -10055);
  rig.telegram.group(-10055).as(1).says('@hermes_test_bot after');
  await rig.telegram.group(-10055).as(1).shouldSee('answer to after');
  expect(rig.model.requests.at(-1)?.body.messages.map(({ content }) => content)).toEqual([expect.any(String), 'before', 'answer to before', 'after']);
});

test('a long answer grows in one message in a direct chat and arrives whole', async () => {
  const rig = await createRig({ config: { streaming: { enabled: true, buffer_chars: 24 } } });
  const text = Array.from({ length: 60 }, (_, i) => `Sentence number ${i} of the long answer.`).join(' ');
  rig.model.answer(() => ({ text, chunkBytes: 400, chunkDelayMs: 25 }));
  await rig.start();
  rig.telegram.dm(1).says('tell me');
  await waitFor('the whole answer', () => rig.answers(1).includes(text));
  expect(rig.answers(1)).toEqual([text]);
  expect(rig.telegram.callsOf('editMessageText').length).toBeGreaterThan(0);
});

test('/stop answers at once although the model hangs, and the next message is answered', async () => {
  const rig = await createRig();
  rig.model.script({ hang: true });
  await rig.start();
  const chat = rig.telegram.dm(1);
  chat.says('slow');
  await rig.model.waitForRequest(1);
  chat.says('/stop');
  await chat.shouldSee('Stopped.');
  chat.says('quick');
  await chat.shouldSee('answer to quick');
  expect(rig.answers(1)).toEqual(['Stopped.', 'answer to quick']);
});
