/** Converts between units of one kind. Each unit has its size in the kind's base unit; temperatures have a zero point too. */

type Converted = { input: string; result: number; output: string } | { error: string };

interface Unit {
  kind: string;
  /** Size in base units. */
  factor: number;
  /** Base value at zero of this unit; temperatures only. */
  offset: number;
}

/** `symbol|other names: factor`. Symbols keep their case (MB is no Mb), other names are found in any case, with an s at the end too. */
const table: Record<string, string> = {
  length: 'm|meter|metre:1 km|kilometer|kilometre:1000 cm|centimeter|centimetre:0.01 mm|millimeter|millimetre:0.001 µm|um|micrometer|micron:1e-6 nm|nanometer:1e-9 mi|mile:1609.344 yd|yard:0.9144 ft|foot|feet:0.3048 in|inch|inches:0.0254 nmi|nautical_mile:1852',
  mass: 'kg|kilogram|kilo:1 g|gram:0.001 mg|milligram:1e-6 µg|ug|microgram:1e-9 t|tonne|metric_ton:1000 lb|lbs|pound:0.45359237 oz|ounce:0.028349523125 st|stone:6.35029318 ton|short_ton:907.18474',
  volume: 'l|L|liter|litre:1 ml|mL|milliliter|millilitre:0.001 cl|centiliter:0.01 dl|deciliter:0.1 m3|m³|cubic_meter|cubic_metre:1000 cm3|cm³|cubic_centimeter:0.001 gal|gallon:3.785411784 qt|quart:0.946352946 pt|pint:0.473176473 cup:0.2365882365 floz|fl_oz|fluid_ounce:0.0295735295625 tbsp|tablespoon:0.01478676478125 tsp|teaspoon:0.00492892159375',
  area: 'm2|m²|square_meter|square_metre:1 km2|km²|square_kilometer:1e6 cm2|cm²|square_centimeter:1e-4 ha|hectare:1e4 acre:4046.8564224 ft2|ft²|square_foot|square_feet:0.09290304 mi2|mi²|square_mile:2589988.110336',
  speed: 'm/s|mps|meter_per_second:1 km/h|kmh|kph|kilometer_per_hour:0.2777777777777778 mph|mi/h|mile_per_hour:0.44704 kn|knot|kt:0.5144444444444445 ft/s|fps|foot_per_second:0.3048',
  data: 'B|byte:8 b|bit:1 kB|KB|kilobyte:8e3 MB|megabyte:8e6 GB|gigabyte:8e9 TB|terabyte:8e12 PB|petabyte:8e15 KiB|kibibyte:8192 MiB|mebibyte:8388608 GiB|gibibyte:8589934592 TiB|tebibyte:8796093022208 kb|kbit|kilobit:1e3 Mb|Mbit|megabit:1e6 Gb|Gbit|gigabit:1e9',
  time: 's|sec|second:1 ms|millisecond:0.001 µs|us|microsecond:1e-6 ns|nanosecond:1e-9 min|minute:60 h|hr|hour:3600 d|day:86400 wk|week:604800 yr|year:31557600',
  temperature: 'K|kelvin:1 C|°C|celsius|degC|centigrade:1:273.15 F|°F|fahrenheit|degF:0.5555555555555556:255.3722222222222 R|°R|rankine:0.5555555555555556',
};

const symbols = new Map<string, Unit>();
const names = new Map<string, Unit>();
for (const [kind, list] of Object.entries(table)) {
  for (const entry of list.split(' ')) {
    const [spellings = '', factor, offset = '0'] = entry.split(':');
    const unit = { kind, factor: Number(factor), offset: Number(offset) };
    for (const spelling of spellings.split('|')) {
      symbols.set(spelling, unit);
      if (!names.has(spelling.toLowerCase())) names.set(spelling.toLowerCase(), unit);
    }
  }
}

/** Temperatures are rounded to 4 decimals, everything else to 6; a result too small for that keeps 6 significant digits. */
export function convert(value: number, from: string, to: string): Converted {
  const [source, target] = [find(from), find(to)];
  if (!Number.isFinite(value)) return { error: 'value must be a number' };
  if (!source || !target) return { error: `unknown unit "${source ? to : from}"` };
  if (source.kind !== target.kind) return { error: `${from} is a ${source.kind} and ${to} is a ${target.kind}` };
  const result = round((value * source.factor + source.offset - target.offset) / target.factor, source.kind === 'temperature' ? 4 : 6);
  return { input: `${value} ${from}`, result, output: `${result} ${to}` };
}

function find(name: string): Unit | undefined {
  const text = name.trim();
  const lower = text.toLowerCase().replace(/^degrees? /, '').replaceAll(' ', '_');
  return symbols.get(text) ?? names.get(lower) ?? names.get(lower.replace(/s$/, '')) ?? names.get(lower.replace(/s_per_/, '_per_'));
}

function round(value: number, decimals: number): number {
  const scale = 10 ** decimals;
  // Fifteen digits first: 68.0388555 is kept as a binary number a little below itself, and would be rounded down.
  const rounded = (Math.sign(value) * Math.round(Math.abs(Number((value * scale).toPrecision(15))))) / scale;
  return rounded === 0 && value !== 0 && decimals === 6 ? Number(value.toPrecision(6)) : rounded || 0;
}
