/** One tool that asks a web service. WEATHER_API_KEY is required; WEATHER_API_URL points it at another server. */
import type { PluginContext, ToolContext } from 'hermes-gateway';

const defaultUrl = 'https://api.openweathermap.org/data/2.5';

/** What is used of OpenWeather's answer (https://openweathermap.org/current). */
interface Answer {
  name?: string;
  sys?: { country?: string };
  main?: { temp?: number; feels_like?: number; humidity?: number };
  weather?: { description?: string }[];
  wind?: { speed?: number };
}

export function register(ctx: PluginContext): void {
  ctx.registerTool({
    name: 'get_weather',
    emoji: '🌤️',
    parallel: true,
    idempotent: true,
    schema: {
      name: 'get_weather',
      description: 'Current weather at a place: temperature in °C, conditions, humidity, wind in m/s.',
      parameters: {
        type: 'object',
        properties: { location: { type: 'string', description: 'A city, with its country if it is not unique: London,GB' } },
        required: ['location'],
        additionalProperties: false,
      },
    },
    handler: async (args, context) => JSON.stringify(await getWeather(String(args.location), context)),
  });
}

async function getWeather(location: string, { signal }: Pick<ToolContext, 'signal'>): Promise<Record<string, unknown>> {
  const url = new URL(`${process.env.WEATHER_API_URL ?? defaultUrl}/weather`);
  url.search = new URLSearchParams({ q: location, units: 'metric', appid: process.env.WEATHER_API_KEY ?? '' }).toString();
  let response: Response;
  try {
    response = await fetch(url, { signal });
  } catch {
    // The fault's own text can hold the address, and the address holds the key.
    return { error: 'the weather service could not be reached' };
  }
  if (response.status === 404) return { error: `the weather service knows no place called "${location}"` };
  if (response.status === 401) return { error: 'the weather service refused WEATHER_API_KEY; set a valid key in .env' };
  if (!response.ok) return { error: `the weather service answered ${response.status}; try again later` };
  return toReport(location, (await response.json()) as Answer);
}

function toReport(location: string, { name, sys, main, weather, wind }: Answer): Record<string, unknown> {
  return {
    location: [name ?? location, sys?.country].filter(Boolean).join(', '),
    temperature_c: main?.temp ?? null,
    feels_like_c: main?.feels_like ?? null,
    conditions: weather?.[0]?.description ?? 'unknown',
    humidity_percent: main?.humidity ?? null,
    wind_m_s: wind?.speed ?? null,
  };
}
