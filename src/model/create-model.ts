/** A configuration -> the one Model that turns call: the provider itself, then its fallbacks in order. */
import { HermesError, toMessage } from '../contract/errors.ts';
import type { Model, ModelConfig, ModelDeps } from '../contract/model.ts';
import { noUsage, type Provider } from './attempt.ts';
import { createOfflineProvider } from './offline.ts';
import { createOpenAiProvider } from './openai.ts';
import { type ProviderConfig, resolveProvider } from './presets.ts';
import { createCall } from './retry.ts';

export interface WarmModel extends Model {
  /** Loads what the first call would load (about 150 ms); to be called once nothing else is waited for. Never rejects. */
  warm(): Promise<void>;
}

/** Throws a HermesError CONFIG_INVALID when the provider or one of the fallbacks cannot be used as configured. */
export function createModel(config: ModelConfig, deps: ModelDeps): WarmModel {
  const primary = createProvider(config, deps);
  const fallbacks = config.fallbacks.map((fallback, place) => createFallback(fallback, place, deps));
  const call = createCall([primary, ...fallbacks], deps);
  return {
    id: primary.id,
    contextWindow: config.context_window,
    call: (request) =>
      call(request).catch((thrown: unknown) => {
        // A throwing observer or a defect; the turn must end all the same.
        deps.log.error('model call failed inside', { thrown: thrown instanceof Error ? thrown.stack : String(thrown) });
        return { ok: false, failure: 'unavailable', detail: toMessage(thrown), partialText: '', usage: noUsage };
      }),
    warm: () => primary.warm(),
  };
}

function createProvider(config: ProviderConfig, deps: ModelDeps): Provider {
  const spec = resolveProvider(config, deps.env);
  return spec.provider === 'offline' ? createOfflineProvider(spec) : createOpenAiProvider(spec, deps);
}

function createFallback(config: ProviderConfig, place: number, deps: ModelDeps): Provider {
  try {
    return createProvider(config, deps);
  } catch (thrown) {
    throw new HermesError('CONFIG_INVALID', `model.fallbacks[${place}]: ${toMessage(thrown)}`, { cause: thrown });
  }
}
