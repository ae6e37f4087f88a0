import { describe, expect, it } from 'vitest';
import { HermesError } from '../../src/contract/errors.ts';
import { describeModel, type ProviderConfig, resolveProvider } from '../../src/model/presets.ts';
import { openDesk } from './desk.ts';

const config = (more: Partial<ProviderConfig>): ProviderConfig => ({ provider: 'auto', name: null, base_url: null, api_key: null, ...more });

describe('presets', () => {
  it.each([
    ['openai', 'https://api.openai.com/v1', 'OPENAI_API_KEY'],
    ['openrouter', 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'],
    ['anthropic', 'https://api.anthropic.com/v1', 'ANTHROPIC_API_KEY'],
    ['gemini', 'https://generativelanguage.googleapis.com/v1beta/openai', 'GEMINI_API_KEY'],
  ])('%s is found by its usual key alone', (provider, baseUrl, variable) => {
    const spec = resolveProvider(config({}), { [variable]: 'secret-key' });
    expect(spec).toMatchObject({ provider, baseUrl, apiKey: 'secret-key', missing: null });
    expect(spec.id).toBe(`${provider}/${spec.name}`);
    expect(spec.name).not.toBe('');
  });

  it('auto takes the first provider in order when several keys are set', () => {
    expect(resolveProvider(config({}), { GOOGLE_API_KEY: 'g', OPENROUTER_API_KEY: 'r' }).provider).toBe('openrouter');
  });

  it('auto ignores a key that is empty, and ends at the offline model', () => {
    expect(resolveProvider(config({}), { OPENAI_API_KEY: '' }).id).toBe('offline/stand-in');
  });

  it('auto with a base_url sends no other provider\'s key there', () => {
    const spec = resolveProvider(config({ base_url: 'http://127.0.0.1:9/v1/' }), { ANTHROPIC_API_KEY: 'secret-key' });
    expect(spec).toMatchObject({ provider: 'custom', baseUrl: 'http://127.0.0.1:9/v1', apiKey: null });
  });

  it('auto with a base_url and OPENAI_API_KEY is openai at that address', () => {
    expect(resolveProvider(config({ base_url: 'http://127.0.0.1:9/v1' }), { OPENAI_API_KEY: 'secret-key' })).toMatchObject({ provider: 'openai', baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'secret-key' });
  });

  it('auto with a key in the configuration alone is openai', () => {
    expect(resolveProvider(config({ api_key: 'mine' }), {})).toMatchObject({ provider: 'openai', apiKey: 'mine' });
  });

  it('an empty text is the same as nothing configured', () => {
    expect(resolveProvider(config({ name: '', base_url: '', api_key: '' }), { OPENAI_API_KEY: 'k' })).toMatchObject({ provider: 'openai', name: 'gpt-5-mini', apiKey: 'k' });
  });

  it('ollama needs neither key nor base_url', () => {
    expect(resolveProvider(config({ provider: 'ollama', name: 'llama3' }), {})).toMatchObject({ baseUrl: 'http://127.0.0.1:11434/v1', apiKey: null, id: 'ollama/llama3', missing: null });
  });

  it('a configured key wins over the environment', () => {
    expect(resolveProvider(config({ provider: 'openai', api_key: 'mine' }), { OPENAI_API_KEY: 'other' }).apiKey).toBe('mine');
  });
});

describe('a configuration that cannot be used', () => {
  it.each([
    ['custom without base_url', config({ provider: 'custom' }), /base_url is missing/],
    ['an unknown provider', config({ provider: 'opnai' }), /"opnai" is unknown; did you mean openai\?/],
    ['a provider named like a property of objects', config({ provider: 'constructor' }), /is unknown/],
    ['a base_url that is no URL', config({ provider: 'custom', base_url: 'localhost:8000' }), /is no URL/],
    ['a base_url with a password', config({ provider: 'custom', base_url: 'http://me:secret@127.0.0.1/v1' }), /put the key into model.api_key/],
  ])('%s is refused when the model is created', (_, wrong, message) => {
    expect(() => openDesk(wrong)).toThrow(message);
    expect(() => openDesk(wrong)).toThrow(HermesError);
  });

  it('a wrong fallback is named by its place', () => {
    const fallbacks = [config({ provider: 'ollama' }), config({ provider: 'custom' })];
    expect(() => openDesk({ provider: 'offline', fallbacks })).toThrow(/model\.fallbacks\[1\]: .*base_url is missing/);
  });
});

describe('describeModel', () => {
  it('says for the offline model what to put where', () => {
    const facts = describeModel(config({}), { HERMES_HOME: '/srv/hermes' });
    expect(facts).toMatchObject({ id: 'offline/stand-in', configured: false });
    expect(facts.hint).toContain('OPENAI_API_KEY=... in /srv/hermes/.env');
  });

  it('says for a provider without its key which variable is missing', () => {
    expect(describeModel(config({ provider: 'gemini' }), {})).toEqual({
      id: 'gemini/gemini-2.5-flash',
      configured: false,
      hint: 'No model provider is configured yet. Put GEMINI_API_KEY=... in ~/.hermes/.env and restart.',
    });
  });

  it('has nothing to say about a provider that is complete', () => {
    expect(describeModel(config({ provider: 'openai', name: 'gpt-x' }), { OPENAI_API_KEY: 'k' })).toEqual({ id: 'openai/gpt-x', configured: true, hint: '' });
  });

  it('a provider without its key is not called: the answer says which key is missing', async () => {
    const reply = await openDesk({ provider: 'openai' }).ask('hi');
    expect(reply).toMatchObject({ ok: false, failure: 'auth', usage: { requests: 0 } });
    expect(reply.ok ? '' : reply.detail).toContain('OPENAI_API_KEY=...');
  });
});
