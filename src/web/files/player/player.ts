import { displayName } from '../../../lib/display-name.ts';
import { icon, iconButton, make } from '../../shared/dom.ts';
import { notice } from '../../shared/notices.ts';
import { addStyle } from '../../shared/parts.ts';
import { text } from '../language.ts';
import { previewText } from '../previews/preview-text.ts';
import { focusRow, previewKind, type Row, rowName, shownRows } from '../rows/rows.ts';
import { memberUrl, obstacle } from '../server.ts';
import { clockText } from './clock.ts';
import style from './player.css';

addStyle(style);

/** A file to be played; it stays known when another folder is shown. */
interface Track {
  name: string;
  url: string;
}

let player: Player | undefined;

/** Plays a file, and after it those that follow in its folder. */
export function playFrom(first: Row): void {
  const rows = shownRows().filter((row) => previewKind(row) === 'audio');
  player ??= new Player();
  player.start(
    rows.map((row) => ({ name: rowName(row), url: memberUrl(rowName(row)) })),
    rows.indexOf(first),
  );
}

/** A bar at the foot of the page. */
class Player {
  readonly #audio = make('audio');
  readonly #name = make('bdi');
  readonly #place = make('span.hint');
  readonly #before = this.#button('previous', 'left', () => this.#go(-1));
  readonly #toggle = this.#button('play', 'resume', () => this.#toggleSound());
  readonly #after = this.#button('next', 'right', () => this.#go(1));
  readonly #position = make('input', { type: 'range', min: '0', max: '0', value: '0', ariaLabel: text('position') });
  readonly #times = make('span.hint.times');
  readonly #bar: HTMLElement;
  #tracks: readonly Track[] = [];
  #index = 0;

  constructor() {
    const title = make('p.title', { role: 'status' }, this.#name, ' ', this.#place);
    const close = this.#button('close', 'close', () => this.#end());
    const controls = make('span.controls', this.#before, this.#toggle, this.#after);
    const label = { 'aria-label': previewText('player') };
    this.#bar = make('section.player', { attributes: label }, controls, title, this.#position, this.#times, close);
    this.#watch();
    document.body.append(this.#bar);
    document.documentElement.dataset.player = '';
  }

  #button(label: Parameters<typeof text>[0], iconName: Parameters<typeof icon>[0], action: () => void): HTMLButtonElement {
    const button = iconButton(text(label), iconName, action);
    button.title = text(label);
    return button;
  }

  #watch(): void {
    const audio = this.#audio;
    for (const type of ['play', 'pause', 'ended'] as const) audio.addEventListener(type, () => this.#showState());
    for (const type of ['timeupdate', 'durationchange', 'seeked'] as const) audio.addEventListener(type, () => this.#showTime());
    audio.addEventListener('ended', () => this.#go(1));
    audio.addEventListener('error', () => this.#skip(previewText('brokenMedia')));
    this.#position.addEventListener('input', () => {
      audio.currentTime = Number(this.#position.value);
    });
    // Keys of the keyboard or of a headset, and what a phone shows while it is locked.
    navigator.mediaSession?.setActionHandler('previoustrack', () => this.#go(-1));
    navigator.mediaSession?.setActionHandler('nexttrack', () => this.#go(1));
  }

  start(tracks: readonly Track[], index: number): void {
    this.#tracks = tracks;
    void this.#play(index);
  }

  #go(by: number): void {
    if (this.#tracks[this.#index + by]) void this.#play(this.#index + by);
  }

  async #play(index: number): Promise<void> {
    const track = this.#tracks[index];
    if (!track) return;
    this.#index = index;
    this.#audio.pause();
    this.#name.textContent = displayName(track.name);
    this.#place.textContent = text('running', { done: index + 1, total: this.#tracks.length });
    this.#before.disabled = index === 0;
    this.#after.disabled = index === this.#tracks.length - 1;
    // The browser asks for the file by itself, and its own password box would lock the page.
    const problem = await obstacle(track.url);
    if (this.#tracks[this.#index] !== track || player !== this) return;
    if (problem !== undefined) return this.#skip(problem);
    this.#audio.src = `${track.url}?inline`;
    if (navigator.mediaSession) navigator.mediaSession.metadata = new MediaMetadata({ title: track.name });
    // A browser that plays nothing by itself waits for the button; what cannot be played has its own event.
    await this.#audio.play().catch(() => {});
  }

  #skip(reason: string): void {
    const track = this.#tracks[this.#index];
    notice(text('error', { reason: `${track?.name}: ${reason}` }), 'error');
    this.#go(1);
  }

  #toggleSound(): void {
    if (!this.#audio.paused) this.#audio.pause();
    else if (this.#audio.getAttribute('src') === null || this.#audio.error) void this.#play(this.#index);
    else void this.#audio.play().catch(() => {});
  }

  #showState(): void {
    const isPaused = this.#audio.paused;
    const label = text(isPaused ? 'play' : 'pause');
    this.#toggle.replaceChildren(icon(isPaused ? 'resume' : 'pause'));
    this.#toggle.title = this.#toggle.ariaLabel = label;
  }

  #showTime(): void {
    const { currentTime, duration } = this.#audio;
    const times = `${clockText(currentTime)} / ${clockText(duration)}`;
    this.#position.max = String(Number.isFinite(duration) ? duration : 0);
    this.#position.value = String(currentTime);
    this.#position.ariaValueText = times;
    this.#times.textContent = times;
  }

  #end(): void {
    player = undefined;
    this.#audio.pause();
    // Without this the browser goes on loading what nobody hears.
    this.#audio.removeAttribute('src');
    this.#bar.remove();
    delete document.documentElement.dataset.player;
    const name = this.#tracks[this.#index]?.name;
    const row = shownRows().find((candidate) => rowName(candidate) === name);
    if (row) focusRow(row);
  }
}
