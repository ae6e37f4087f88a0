import { describe, expect, it } from 'vitest';
import { assertHistory } from '../../src/agent/history.ts';
import type { Entry } from '../../src/contract/transcript.ts';
import { says, startTalk, tool, toolTexts } from './support.ts';

const turnId = 'turn-1';
const step = (...names: string[]): Entry => ({ role: 'assistant', turnId, text: '', toolCalls: names.map((name) => ({ id: `id-${name}`, name, args: {} })) });
const result = (name: string, text: string | null): Entry => ({ role: 'tool', turnId, toolCallId: `id-${name}`, name, text });

/** Tools that write down that they ran. */
function counted(...names: string[]) {
  const ran: string[] = [];
  const tools = names.map((name) =>
    tool(
      name,
      () => {
        ran.push(name);
        return `${name} ran`;
      },
      { idempotent: name.startsWith('safe') },
    ),
  );
  return { ran, tools };
}

describe('a turn that a dead process left behind', () => {
  it('keeps results, marks what was running, runs what may run again and what never began', async () => {
    const { ran, tools } = counted('done', 'effect', 'safe', 'fresh');
    const talk = startTalk({ tools, script: [says('Carried on.')] });
    talk.watchHooks();
    const entries = [step('done', 'effect', 'safe', 'fresh'), result('done', 'done before'), result('effect', null), result('safe', null)];
    const ended = await talk.says('go', { resume: { entries, context: 'It was Monday.' } });
    expect(ended).toMatchObject({ status: 'answered', text: 'Carried on.', steps: 2 });
    expect(toolTexts(ended)).toEqual(['done before', '{"error":"interrupted by a restart; outcome unknown"}', 'safe ran', 'fresh ran']);
    expect(ran).toEqual(['safe', 'fresh']);
    expect(talk.journal).toEqual(['result id-effect {"error":"interrupted by a restart; outcome unknown"}', 'result id-safe safe ran', 'started id-fresh', 'result id-fresh fresh ran']);
    expect(talk.requests[0]?.messages[1]?.content).toBe('go\n\nIt was Monday.');
    expect(talk.fired.map(({ name }) => name)).not.toContain('pre_llm_call');
    expect(talk.fired.filter(({ name }) => name === 'post_tool_call').map(({ payload }) => payload.tool_call_id)).toEqual(['id-effect', 'id-safe', 'id-fresh']);
    assertHistory(ended.entries);
  });

  it('sends the same bytes as the turn that died', async () => {
    const { tools } = counted('done');
    const first = startTalk({ tools, script: [{ ...says(''), toolCalls: [{ id: 'id-done', name: 'done', args: {} }] } as never, says('First.')] });
    first.hooks.add('p', 'pre_llm_call', () => 'context');
    const whole = await first.says('go');
    const again = startTalk({ tools, script: [says('Second.')] });
    await again.says('go', { resume: { entries: whole.entries.slice(1, -1), context: 'context' } });
    expect(again.requests[0]).toEqual(first.requests[1]);
  });

  it('goes on after a complete step, and after none', async () => {
    const { ran, tools } = counted('done');
    const talk = startTalk({ tools, script: [says('On.'), says('On.')] });
    expect((await talk.says('go', { resume: { entries: [step('done'), result('done', 'x')], context: '' } })).text).toBe('On.');
    expect((await talk.says('go', { resume: { entries: [], context: '' } })).text).toBe('On.');
    expect(ran).toEqual([]);
    expect(talk.journal).toEqual([]);
  });

  it('puts results of older steps into call order and keeps what was said meanwhile', async () => {
    const { tools } = counted('a', 'b', 'c');
    const talk = startTalk({ tools, script: [says('On.')] });
    const steered: Entry = { role: 'user', turnId, text: 'hurry' };
    const entries = [step('a', 'b'), result('b', '2'), result('a', '1'), steered, step('c'), result('c', '3'), { ...steered, text: 'faster' }];
    const ended = await talk.says('go', { resume: { entries, context: '' }, steering: () => [] });
    expect(ended.entries.map((entry) => entry.text)).toEqual(['go', '', '1', '2', 'hurry', '', '3', 'faster', 'On.']);
    assertHistory(ended.entries);
  });

  it('counts the steps that were made', async () => {
    const { tools } = counted('a');
    const talk = startTalk({ tools, script: [says('On.')] });
    await talk.says('go', { resume: { entries: [step('a'), result('a', '1')], context: '' }, limits: { maxSteps: 1, timeoutMs: 1000 } });
    expect(talk.requests[0]?.tools).toEqual([]);
  });
});
