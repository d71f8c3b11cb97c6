// Creates the files in the documentation's pictures: drawn landscapes, texts, a film and an archive, without third-party rights.
import { strToU8, zipSync } from 'fflate';
import { recordFilm } from './films.mjs';

/** Draws a landscape at a time of the day. The function runs in the page. */
const drawing = `function draw(context, width, height, seed, shift = 0) {
  let state = seed * 7919 + 17;
  const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
  const skies = [['#1d3461', '#f08a5d', '#ffd8a8'], ['#3a7bd5', '#a8d8f0', '#f4f9ff'], ['#0b1026', '#39396b', '#c86b85'], ['#5b86b0', '#cfd9df', '#f6e7d7']];
  const [top, middle, low] = skies[seed % skies.length];
  const sky = context.createLinearGradient(0, 0, 0, height * 0.75);
  sky.addColorStop(0, top);
  sky.addColorStop(0.6, middle);
  sky.addColorStop(1, low);
  context.fillStyle = sky;
  context.fillRect(0, 0, width, height);
  context.fillStyle = '#fff6d8';
  context.beginPath();
  context.arc(width * (0.2 + 0.6 * random()) + shift, height * (0.18 + 0.2 * random()), height * 0.055, 0, 7);
  context.fill();
  for (let layer = 0; layer < 5; layer++) {
    const base = height * (0.42 + layer * 0.12);
    const hue = 205 + seed * 23 - layer * 14;
    context.fillStyle = 'hsl(' + hue + ' ' + (18 + layer * 6) + '% ' + (62 - layer * 11) + '%)';
    context.beginPath();
    context.moveTo(0, height);
    const [a, b, c] = [random() * 6, random() * 6, random() * 6];
    for (let x = 0; x <= width; x += 4) {
      const at = (x + shift * layer) / width;
      const up = Math.sin(at * 5 + a) + 0.5 * Math.sin(at * 13 + b) + 0.16 * Math.sin(at * 41 + c);
      context.lineTo(x, base - up * height * (0.07 - layer * 0.008));
    }
    context.lineTo(width, height);
    context.fill();
  }
}`;

/** Returns a landscape as JPEG. @param page page of a browser @param seed selects the landscape */
export async function landscape(page, seed, width = 1200, height = 800) {
  const base64 = await page.evaluate(`(async () => {
    ${drawing}
    const canvas = Object.assign(document.createElement('canvas'), { width: ${width}, height: ${height} });
    draw(canvas.getContext('2d'), ${width}, ${height}, ${seed});
    return canvas.toDataURL('image/jpeg', 0.85).split(',')[1];
  })()`);
  return Buffer.from(base64, 'base64');
}

/** Returns a film of a landscape with moving light, as WebM. @param page page of a browser */
export function film(page) {
  return recordFilm(page, 640, 360, `${drawing}; draw(context, 640, 360, 6, frame * 3);`);
}

function pdf() {
  const content = 'BT /F1 28 Tf 72 720 Td (Annual report) Tj /F1 12 Tf 0 -40 Td (All numbers of the year on one page.) Tj ET';
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let text = '%PDF-1.4\n';
  const places = objects.map((object, index) => {
    const at = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(at).padStart(10, '0')} 00000 n \n`;
  });
  const count = objects.length + 1;
  return `${text}xref\n0 ${count}\n0000000000 65535 f \n${places.join('')}trailer\n<< /Size ${count} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`;
}

const markdown = `# Spring meeting

What we decided, **in short**. The numbers are in [the table](costs.csv).

| Topic | Who | Until |
| --- | --- | --- |
| New photos for the website | Ben | 2 April |
| Contract with the printer | Clara | 9 April |
| Tour of the office | all | 17 April |

- [x] Invitations sent
- [ ] Room booked

> What is written once does not need to be said twice.

\`\`\`ts
/** Days that are left until a date. */
export function daysLeft(until: Date, now = new Date()): number {
  return Math.ceil((until.getTime() - now.getTime()) / 86_400_000);
}
\`\`\`
`;

const program = `import { readFile } from 'node:fs/promises';

/** Reads the settings; what is missing has its default. */
export async function readSettings(path: string) {
  const text = await readFile(path, 'utf8');
  return { retries: 3, url: 'https://example.com/', ...JSON.parse(text) }; // later ones win
}
`;

const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 160"><defs><linearGradient id="g"><stop stop-color="#38a"/><stop offset="1" stop-color="#7a4"/></linearGradient></defs>
<rect width="300" height="160" rx="12" fill="#f4f1ea"/><path d="M20 130 L80 70 L130 100 L200 30 L280 90" fill="none" stroke="url(#g)" stroke-width="8" stroke-linejoin="round"/></svg>`;

const costs = [
  'Item;Month;Amount;Paid',
  ...Array.from({ length: 40 }, (_, at) => `Item ${at + 1};${(at % 12) + 1};${(at * 37.5).toFixed(2)};${at % 3 ? 'yes' : 'no'}`),
];

const settings = JSON.stringify({
  name: 'website',
  pages: [
    { path: '/', title: 'Start' },
    { path: '/team', title: 'Team' },
  ],
  theme: { dark: true, accent: '#7a2048' },
});

/** Files of all kinds that have a preview, by their names. */
export const documents = {
  'Notes.txt': 'Agenda\n\n1. Numbers of the quarter\n2. What comes next\n',
  'Spring meeting.md': markdown,
  'costs.csv': `${costs.join('\n')}\n`,
  'settings.json': settings,
  'settings.ts': program,
  'chart.svg': svg,
  'report.pdf': pdf(),
  'broken.png': 'no picture',
  'material.zip': Buffer.from(
    zipSync({
      'texts/read me.md': strToU8(markdown),
      'texts/': new Uint8Array(),
      'data/costs.csv': strToU8(costs.join('\n')),
      'logo.svg': strToU8(svg),
    }),
  ),
};

/** Returns figures of one hour, as on a server that is in use. Recording real ones would take too long. */
export function figuresOfAnHour() {
  const wave = (index, length, middle, height) =>
    Math.max(0, Math.round(middle + height * (Math.sin(index / length) + 0.15 * Math.sin(index / 3.3) + 0.07 * Math.sin(index * 2.3))));
  const sample = (index) => ({
    time: new Date(Date.now() - (360 - index) * 10_000).toISOString(),
    requests: wave(index, 40, 620, 210),
    failures: index > 250 && index < 290 ? wave(index, 5, 40, 25) : wave(index, 9, 4, 4),
    received_bytes: wave(index, 55, 60_000_000, 35_000_000),
    sent_bytes: wave(index, 32, 140_000_000, 60_000_000),
    events: wave(index, 40, 220, 80),
    deliveries: wave(index, 28, 36, 14),
    failed_deliveries: index > 300 ? wave(index, 6, 8, 4) : 0,
    sessions: wave(index, 70, 58, 6),
    connections: wave(index, 50, 214, 40),
    memory_bytes: 171_000_000 + index * 30_000 + wave(index, 3, 1_000_000, 900_000),
    waiting_events: index > 300 ? (index - 300) * 31 : wave(index, 4, 3, 3),
  });
  return { interval_seconds: 10, samples: Array.from({ length: 360 }, (_, index) => sample(index)) };
}
