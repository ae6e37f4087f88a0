import { describe, expect, it } from 'vitest';
import { assertHistory } from '../../src/agent/history.ts';
import type { AgentTool } from '../../src/contract/tool.ts';
import { waitFor } from '../support/wait-for.ts';
import { calls, callsAll, says, startTalk, tool, toolTexts } from './support.ts';

describe('a call that must not run', () => {
  it.each(['constructor', '__proto__', 'toString', '../x', 'x'.repeat(1_000_000), ''])('unknown name %.20s', async (name) => {
    const talk = startTalk({ script: [calls(name), says('Sorry.')] });
    const result = await talk.says('hi');
    expect(result.status).toBe('answered');
    expect(toolTexts(result)[0]).toMatch(/^\{"error":"Unknown tool: /);
    expect(toolTexts(result)[0]?.length).toBeLessThan(120);
    assertHistory(result.entries);
  });

  it('arguments that are no object, and arguments that the schema refuses', async () => {
    let ran = 0;
    const count = tool('count', () => String(++ran));
    const talk = startTalk({ tools: [count], script: [calls('count', {}, { invalid: 'the arguments are no JSON object' }), calls('count', { n: 'three' }), says('I give up.')] });
    const result = await talk.says('hi');
    expect(toolTexts(result)[0]).toBe('{"error":"the arguments are no JSON object"}');
    expect(toolTexts(result)[1]).toMatch(/^\{"error":".*n.*number/);
    expect(ran).toBe(0);
    expect(talk.journal.filter((line) => line.startsWith('started'))).toEqual([]);
  });

  it('a tool that the platform may not run', async () => {
    let ran = 0;
    const terminal = tool('terminal', () => String(++ran));
    const talk = startTalk({ tools: [terminal], script: [calls('terminal'), says('Not here.')] });
    const tools = { definitions: [], get: () => terminal, refusal: (name: string) => `{"error":"Tool not available on test: ${name}"}`, validate: () => null, dispatch: async () => String(++ran), capResult: (_: unknown, text: string) => text };
    const result = await talk.says('hi', { tools });
    expect(toolTexts(result)).toEqual(['{"error":"Tool not available on test: terminal"}']);
    expect(ran).toBe(0);
    expect(talk.events).toContainEqual(expect.objectContaining({ type: 'tool_finished', status: 'blocked' }));
  });

  it.each([
    ['a denial', async () => ({ allow: false, message: 'Denied by Anna.' }) as const, 'Denied by Anna.'],
    ['a broken question', () => Promise.reject(new Error('no chat')), 'Nobody could be asked for consent, so it was not run.'],
  ])('%s', async (_name, approve, message) => {
    let ran = 0;
    const risky = tool('risky', () => String(++ran), { needsApproval: () => 'it deletes things' });
    const talk = startTalk({ tools: [risky], script: [calls('risky'), says('All right.')] });
    expect(toolTexts(await talk.says('hi', { approve }))).toEqual([JSON.stringify({ error: message })]);
    expect(ran).toBe(0);
  });

  it('a check for consent that throws', async () => {
    const risky = tool('risky', () => 'ran', {
      needsApproval: () => {
        throw new Error('bug');
      },
    });
    const talk = startTalk({ tools: [risky], script: [calls('risky'), says('All right.')] });
    expect(toolTexts(await talk.says('hi'))[0]).toMatch(/failed, so it was not run/);
  });
});

describe('consent', () => {
  it('is asked with the arguments that will be used, and lets the call run', async () => {
    const asked: unknown[] = [];
    const risky = tool('risky', ({ n }) => JSON.stringify({ n }), { needsApproval: ({ n }) => (n === 2 ? 'two is much' : null) });
    const talk = startTalk({ tools: [risky], script: [callsAll({ id: 'a', name: 'risky', args: { n: 1 } }, { id: 'b', name: 'risky', args: { n: 1 } }), says('Done.')] });
    talk.hooks.add('p', 'pre_tool_call', ({ tool_call_id }) => (tool_call_id === 'b' ? { action: 'modify', args: { n: 2 } } : null));
    const approve = async (request: unknown) => {
      asked.push(request);
      return { allow: true } as const;
    };
    expect(toolTexts(await talk.says('hi', { approve }))).toEqual(['{"n":1}', '{"n":2}']);
    expect(asked).toEqual([{ toolCallId: 'b', name: 'risky', args: { n: 2 }, reason: 'two is much' }]);
  });
});

describe('calls of one step', () => {
  /** A tool whose calls end when the test says so. */
  function gatedTool(parallel: boolean) {
    const running = new Map<number, () => void>();
    const handler = ({ n }: Record<string, unknown>) => new Promise((resolve) => running.set(Number(n), () => (running.delete(Number(n)), resolve(JSON.stringify({ n })))));
    return { gated: tool('gated', handler, { parallel }), running };
  }
  const six = () => callsAll(...[1, 2, 3, 4, 5, 6].map((n) => ({ id: `c${n}`, name: 'gated', args: { n } })));

  it('run four at a time when all are parallel; results go back in call order', async () => {
    const { gated, running } = gatedTool(true);
    const talk = startTalk({ tools: [gated], script: [six(), says('Done.')] });
    const turn = talk.says('go');
    await waitFor('four calls', () => running.size === 4);
    expect([...running.keys()]).toEqual([1, 2, 3, 4]);
    for (const n of [4, 3, 5, 6, 2, 1]) (await waitFor(`call ${n}`, () => running.get(n)))();
    expect(toolTexts(await turn)).toEqual([1, 2, 3, 4, 5, 6].map((n) => `{"n":${n}}`));
    expect(talk.requests[1]?.messages.slice(3).map((message) => 'toolCallId' in message && message.toolCallId)).toEqual(['c1', 'c2', 'c3', 'c4', 'c5', 'c6']);
  });

  it('run in order otherwise, each journalled before the next begins', async () => {
    const { gated, running } = gatedTool(false);
    const talk = startTalk({ tools: [gated], script: [six(), says('Done.')] });
    const turn = talk.says('go');
    for (const n of [1, 2, 3, 4, 5, 6]) {
      const end = await waitFor(`call ${n}`, () => running.get(n));
      expect([...running.keys()]).toEqual([n]);
      end();
    }
    await turn;
    expect(talk.journal.slice(2, 6)).toEqual(['started c1', 'result c1 {"n":1}', 'started c2', 'result c2 {"n":2}']);
  });

  it('get ids of their own when the provider repeats them', async () => {
    const slow = tool('slow', () => '{}');
    const talk = startTalk({ tools: [slow], script: [callsAll({ id: 'x', name: 'slow' }, { id: 'x', name: 'slow' }, { id: '', name: 'slow' }), calls('slow', {}, { id: 'x' }), says('Done.')] });
    const result = await talk.says('go');
    const ids = result.entries.flatMap((entry) => (entry.role === 'tool' ? [entry.toolCallId] : []));
    expect(new Set(ids).size).toBe(4);
    assertHistory(result.entries);
  });
});

describe('a result', () => {
  it('is transformed, then redacted, then capped, then stored', async () => {
    const leak = tool('leak', () => 'key sk-secret');
    const talk = startTalk({ tools: [leak], script: [calls('leak', {}, { id: 'l' }), says('Done.')] });
    talk.hooks.add('p', 'transform_tool_result', ({ result }) => `${String(result)} sk-secret`);
    const tools = { definitions: [], get: () => leak, refusal: () => null, validate: () => null, dispatch: async () => 'key sk-secret', capResult: (_: unknown, text: string) => `<${text}>` };
    const result = await talk.says('go', { tools, redact: (text) => text.replaceAll('sk-secret', '[redacted]') });
    expect(toolTexts(result)).toEqual(['<key [redacted] [redacted]>']);
    expect(talk.journal.at(-1)).toBe('result l <key [redacted] [redacted]>');
  });

  it('is never empty', async () => {
    const talk = startTalk({ tools: [tool('mute', () => '')], script: [calls('mute'), says('Done.')] });
    expect(toolTexts(await talk.says('go'))).toEqual(['(no output)']);
  });

  it('of the agent\'s own tool comes from the agent, with the same context', async () => {
    const own: AgentTool = async (args, context) => JSON.stringify({ args, task: context.task_id, call: context.tool_call_id, platform: context.platform });
    const registered = tool('todo', () => 'from the registry');
    const broken: AgentTool = () => Promise.reject(new Error('no disk'));
    const talk = startTalk({
      tools: [registered, tool('memory', () => 'from the registry')],
      agentTools: new Map([['todo', own], ['memory', broken]]),
      script: [callsAll({ id: 't', name: 'todo', args: { n: 1 } }, { id: 'm', name: 'memory' }), says('Done.')],
    });
    expect(toolTexts(await talk.says('go'))).toEqual([
      '{"args":{"n":1},"task":"session-1","call":"t","platform":"test"}',
      '{"error":"Tool execution failed: no disk"}',
    ]);
  });
});
