/** Every example plugin, run by the real host: where it lies, and once copied into a home folder. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import type { CommandContext } from '../../src/contract/plugin.ts';
import { toPluginLines } from '../../src/lib/plugin-lines.ts';
import { createSkills } from '../../src/skills/skills.ts';
import { silentLog } from '../../src/lib/log.ts';
import { copyExample, examples, loadPlugins, type PluginHome } from '../plugins/plugin-home.ts';
import { tempHome } from '../support/temp-home.ts';

const inTurn = { session_id: 's1', turn_id: 't1', platform: 'telegram' };
const inCall = { ...inTurn, task_id: 's1', tool_call_id: 'c1' };

function load(name: string, options = {}): Promise<PluginHome> {
  return loadPlugins(tempHome(), { extraDirs: [join(examples, name)], ...options });
}

function loadCopied(name: string, options = {}): Promise<PluginHome> {
  const home = tempHome();
  copyExample(home, name);
  return loadPlugins(home, options);
}

describe('calculator', () => {
  test('is shown as one line in /plugins', async () => {
    const { host } = await load('calculator');
    expect(toPluginLines(host.facts())).toEqual(['Plugins (1):', '  ✓ calculator v1.0.0 (2 tools, 1 hooks)']);
    expect(host.toolsets()).toEqual(['calculator']);
  });

  test('calculates, copied into a home without an install', async () => {
    const { runTool } = await loadCopied('calculator');
    expect(await runTool('calculate', { expression: '2^16' })).toEqual({ expression: '2^16', result: 65536 });
    expect(await runTool('calculate', { expression: '2**16' })).toEqual({ expression: '2**16', result: 65536 });
  });

  test('understands what people and models write', async () => {
    const { runTool } = await load('calculator');
    const cases = [
      ['0.1 + 0.2', 0.3],
      ['2 ** 3 ** 2', 512],
      ['10 % 3', 1],
      ['5!', 120],
      ['3 > 2', true],
      ['ln(e)', 1],
      ['6 × 7 − 2 ÷ 1', 40],
      ['combinations(10, 3)', 120],
      ['max(1, 2, round(2.6))', 3],
      ['sqrt(-4)', '2i'],
    ] as const;
    for (const [expression, result] of cases) expect(await runTool('calculate', { expression })).toEqual({ expression, result });
  });

  test('answers with an error to whatever is no calculation, or too large for one', async () => {
    const { runTool } = await load('calculator');
    const cases = [
      'import("fs")', 'createUnit("x")', 'evaluate("1+1")', 'parse("1")', 'simplify("x+x")', 'derivative("x^2", "x")', 'f(x) = x', 'a = 5', '[1, 2, 3]', '1:1000000000',
      'zeros(100000, 100000)', 'cos.constructor("return process")()', '"text"', '{a: 1}', '5 cm to inch', 'combinations(1e9, 5e8)', 'factorial(1e9)', '1/0', 'sqrt', '(1', '',
      `${'1+'.repeat(300)}1`, 'config({})', 'typed("f", {})', 'help(1)', 'random(1, 1e9)[1]',
    ] as const;
    for (const expression of cases) expect(await runTool('calculate', { expression }), expression).toEqual({ error: expect.any(String) as string });
  });

  test('converts temperatures to 4 decimals and ratios to 6', async () => {
    const { runTool } = await load('calculator');
    const cases = [
      [100, 'fahrenheit', 'celsius', 37.7778],
      [-40, 'C', '°F', -40],
      [0, 'kelvin', 'degC', -273.15],
      [1, 'mile', 'km', 1.609344],
      [26.2, 'miles', 'kilometers', 42.164813],
      [150, 'lbs', 'kg', 68.038856],
      [1, 'gallon', 'litres', 3.785412],
      [100, 'km/h', 'mph', 62.137119],
      [1, 'GiB', 'MB', 1073.741824],
      [8, 'Mb', 'MB', 1],
      [2, 'hours', 'min', 120],
      [3, 'Square Feet', 'm2', 0.278709],
      [1, 'nm', 'km', 1e-12],
    ] as const;
    for (const [value, from_unit, to_unit, result] of cases)
      expect(await runTool('unit_convert', { value, from_unit, to_unit })).toMatchObject({ input: `${value} ${from_unit}`, result });
  });

  test('says which unit it does not know, and refuses to turn a mass into a length', async () => {
    const { runTool } = await load('calculator');
    expect(await runTool('unit_convert', { value: 1, from_unit: 'furlongs', to_unit: 'm' })).toEqual({ error: 'unknown unit "furlongs"' });
    expect(await runTool('unit_convert', { value: 1, from_unit: 'kg', to_unit: 'constructor' })).toEqual({ error: 'unknown unit "constructor"' });
    expect(await runTool('unit_convert', { value: 1, from_unit: 'kg', to_unit: 'm' })).toEqual({ error: 'kg is a mass and m is a length' });
  });

  test('there and back again gives the same temperature', async () => {
    const { runTool } = await load('calculator');
    await fc.assert(
      fc.asyncProperty(fc.double({ min: -200, max: 5000, noNaN: true }), async (celsius) => {
        const there = await runTool('unit_convert', { value: celsius, from_unit: 'C', to_unit: 'F' });
        const back = await runTool('unit_convert', { value: there.result, from_unit: 'F', to_unit: 'C' });
        expect(Math.abs(Number(back.result) - celsius)).toBeLessThan(0.0002);
      }),
      { numRuns: 50 },
    );
  });

  test('logs every tool call, and brings a skill', async () => {
    const { hooks, host, home, logged } = await load('calculator');
    await hooks.fire('post_tool_call', { ...inCall, tool_name: 'terminal', args: {}, result: '{}', duration_ms: 12.3, status: 'ok' });
    expect(logged()).toContain('calculator saw terminal: ok in 12 ms');
    const skills = createSkills({ home, paths: [], pluginSkills: () => host.skills(), log: silentLog });
    expect(skills.view('calculator:units')?.body).toContain('never in your head');
  });
});

describe('weather', () => {
  afterEach(() => {
    delete process.env.WEATHER_API_KEY;
    delete process.env.WEATHER_API_URL;
  });

  async function startService(status: number, answer: unknown): Promise<string[]> {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
    process.env.WEATHER_API_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    process.env.WEATHER_API_KEY = 'key-of-the-test';
    return asked;
  }

  test('is off without its key, and says which', async () => {
    const { host, logged, registry } = await load('weather');
    expect(logged()).toContain('Plugin weather disabled (missing: WEATHER_API_KEY)');
    expect(toPluginLines(host.facts())[1]).toBe('  ✗ weather v1.0.0 - disabled (missing: WEATHER_API_KEY)');
    expect(registry.names()).toEqual([]);
  });

  test('asks the service and reports', async () => {
    const asked = await startService(200, { name: 'London', sys: { country: 'GB' }, main: { temp: 11.5, feels_like: 10, humidity: 80 }, weather: [{ description: 'light rain' }], wind: { speed: 4 } });
    const { runTool } = await loadCopied('weather', { env: process.env });
    expect(await runTool('get_weather', { location: 'London' })).toEqual({
      location: 'London, GB', temperature_c: 11.5, feels_like_c: 10, conditions: 'light rain', humidity_percent: 80, wind_m_s: 4,
    });
    expect(asked).toEqual(['/weather?q=London&units=metric&appid=key-of-the-test']);
  });

  test.each([
    [404, 'the weather service knows no place called "Nowhere"'],
    [401, 'the weather service refused WEATHER_API_KEY; set a valid key in .env'],
    [503, 'the weather service answered 503; try again later'],
  ])('tells the model what a %d means', async (status, error) => {
    await startService(status, {});
    const { runTool } = await load('weather', { env: process.env });
    expect(await runTool('get_weather', { location: 'Nowhere' })).toEqual({ error });
  });

  test('says that the service cannot be reached without showing the key', async () => {
    process.env.WEATHER_API_URL = 'http://127.0.0.1:1';
    process.env.WEATHER_API_KEY = 'key-of-the-test';
    const { runTool } = await load('weather', { env: process.env });
    expect(await runTool('get_weather', { location: 'London' })).toEqual({ error: 'the weather service could not be reached' });
  });
});

describe('memory-recall', () => {
  const ann: CommandContext = { platform: 'telegram', session_id: 's1', sender: { id: '7', name: 'Ann' }, chat: { id: '7', type: 'dm', thread: null } };

  async function recall({ hooks }: PluginHome, message: string, sender = '7'): Promise<unknown[]> {
    const results = await hooks.fire('pre_llm_call', { ...inTurn, user_message: message, conversation_history: [], is_first_turn: true, model: 'm', sender_id: sender });
    return results.map(({ value }) => value);
  }

  test('brings back the notes that fit, to their owner alone, after a restart too', async () => {
    const first = await loadCopied('memory-recall');
    const remember = first.host.commands().find(({ name }) => name === 'remember');
    expect(remember?.handler('My cats are called Ada and Grace', ann)).toBe('Noted: My cats are called Ada and Grace');
    expect(remember?.handler('The router stands in the cellar', ann)).toContain('Noted');
    expect(remember?.handler('  ', ann)).toContain('/remember TEXT');

    const again = await loadPlugins(first.home);
    expect(await recall(again, 'What are my cats called?')).toEqual([{ context: 'Notes that this person asked you to remember:\n- My cats are called Ada and Grace' }]);
    expect(await recall(again, 'What are my cats called?', '8')).toEqual([]);
    expect(await recall(again, 'Good morning')).toEqual([]);
    const notes = again.host.commands().find(({ name }) => name === 'notes');
    expect(notes?.handler('', ann)).toBe('1. My cats are called Ada and Grace\n2. The router stands in the cellar');
  });
});

describe('guardrails', () => {
  async function judge({ hooks }: PluginHome, tool: string, args: Record<string, unknown>): Promise<unknown[]> {
    return (await hooks.fire('pre_tool_call', { ...inCall, tool_name: tool, args })).map(({ value }) => value);
  }

  test('adds its policy to each message', async () => {
    const { hooks } = await loadCopied('guardrails');
    const results = await hooks.fire('pre_llm_call', { ...inTurn, user_message: 'hi', conversation_history: [], is_first_turn: false, model: 'm', sender_id: '7' });
    expect(results).toEqual([{ plugin: 'guardrails', value: { context: 'House rules:\nNever show passwords, keys or tokens. Say so when you are not sure.' } }]);
  });

  test('refuses switched-off tools and dangerous arguments, and lets the rest through', async () => {
    const loaded = await load('guardrails', { pluginConfig: { guardrails: { blocked_tools: ['terminal'] } } });
    expect(await judge(loaded, 'terminal', { command: 'ls' })).toEqual([{ action: 'block', message: expect.stringContaining('terminal is switched off') as string }]);
    expect(await judge(loaded, 'execute_code', { steps: [{ code: 'rm\t-rf /' }] })).toEqual([{ action: 'block', message: expect.stringContaining('pattern') as string }]);
    expect(await judge(loaded, 'calculate', { expression: '1+1' })).toEqual([]);
  });

  test('a policy that cannot be read stops the plugin at the start, where it is seen', async () => {
    const { host } = await load('guardrails', { pluginConfig: { guardrails: { blocked_patterns: ['('] } } });
    expect(host.facts()[0]).toMatchObject({ state: 'failed', reason: expect.stringContaining('Invalid regular expression') as string });
  });
});
