/** A plugin that calls tools by itself: it reaches what the chat at hand may have, and nothing that a person would have to consent to. */
import { expect, test } from 'vitest';
import { homeWith } from '../plugins/plugin-home.ts';
import { deskTool, openDesk, type Desk } from './desk.ts';

/** Its tool `reach` calls another tool in the plugin's own name and gives back what came of it. */
const reacher = {
  'reacher/plugin.yaml': 'name: reacher\nversion: 1.0.0\n',
  'reacher/index.js': `exports.register = (ctx) => ctx.registerTool({
  name: 'reach', schema: { name: 'reach', description: 'Calls a tool.', parameters: { type: 'object', properties: { tool: { type: 'string' } } } },
  handler: ({ tool }) => ctx.dispatchTool(tool, {}),
});`,
};

/** A desk with the plugin and three tools: one that is offered, one of another toolset, one that needs consent. Each counts its runs. */
async function openWithReacher(): Promise<{ desk: Desk; runs: string[] }> {
  const runs: string[] = [];
  const counted = (name: string) => deskTool(name, () => (runs.push(name), JSON.stringify({ ran: name })));
  const desk = await openDesk({
    home: homeWith(reacher),
    tools: [counted('offered'), { ...counted('dangerous'), needsApproval: () => 'deletes files' }],
    async before({ registry, plugins }) {
      registry.register({ ...counted('elsewhere'), toolset: 'elsewhere' }, 'desk');
      await plugins.load();
    },
  });
  desk.model.answer(({ body }) => {
    const last = body.messages.at(-1);
    return last?.role === 'tool' ? { text: `it says ${String(last.content)}` } : { toolCalls: [{ name: 'reach', args: { tool: String(last?.content) } }] };
  });
  return { desk, runs };
}

test.each([
  ['offered', 'it says {"ran":"offered"}', ['offered']],
  ['elsewhere', 'Tool not available on telegram: elsewhere', []],
  ['dangerous', 'Not run: deletes files, and a plugin cannot consent to it.', []],
])('a plugin that calls the tool %s in a chat hears: %s', async (tool, heard, ran) => {
  const { desk, runs } = await openWithReacher();
  const ann = desk.person('ann');
  await ann.says(tool);
  await ann.shouldSee(heard);
  expect(runs).toEqual(ran);
});
