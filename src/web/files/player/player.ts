import { displayName, nameInText } from '../../../lib/display-name.ts';
import type { IconName } from '../../../lib/icon-shapes.ts';
import { icon, iconButton, make } from '../../shared/dom.ts';
import { notice } from '../../shared/notices.ts';
import { addStyle } from '../../shared/parts.ts';
import { text } from '../language.ts';
import { previewText } from '../previews/preview-text.ts';
import { focusRow, previewKind, type Row, rowMember, rowName, shownRows } from '../rows/rows.ts';
import { memberUrl, obstacle } from '../server.ts';
import { clockText } from './clock.ts';
import style from './player.css';

addStyle(style);

/** A file to play. The URL is absolute, because another folder may be shown when the file begins to play. */
interface Track {
  name: string;
  url: string;
}

let player: ReturnType<typeof makePlayer> | undefined;

/** Plays an audio file, and then the audio files below it in the list. */
export function playFrom(first: Row): void {
  const rows = shownRows().filter((row) => previewKind(row) === 'audio');
  player ??= makePlayer();
  player.start(
    rows.map(rowMember).map(({ name, folder }) => ({ name, url: memberUrl(name, false, folder) })),
    rows.indexOf(first),
  );
}

function makePlayer() {
  let tracks: readonly Track[] = [];
  let index = 0;
  let isOver = false;

  const go = (by: number) => {
    if (tracks[index + by]) void play(index + by);
  };

  const play = async (next: number) => {
    const track = tracks[next];
    if (!track) return;
    index = next;
    audio.pause();
    name.textContent = displayName(track.name);
    place.textContent = text('running', { done: next + 1, total: tracks.length });
    before.disabled = next === 0;
    after.disabled = next === tracks.length - 1;
    // Check the session first. If it has ended, the browser's request for the file would open a password dialog, which blocks the page.
    const problem = await obstacle(track.url);
    if (tracks[index] !== track || isOver) return;
    if (problem !== undefined) return skip(text('notOpened', { name: nameInText(track.name), reason: problem }));
    audio.src = `${track.url}?inline`;
    if (navigator.mediaSession) navigator.mediaSession.metadata = new MediaMetadata({ title: track.name });
    // If the browser blocks autoplay, the user presses the button. If the file cannot be played, the `error` event reports it.
    await audio.play().catch(() => {});
  };

  const skip = (message: string) => {
    notice(message, 'error');
    if (tracks[index + 1]) go(1);
    else end(bar.contains(document.activeElement));
  };

  const toggleSound = () => {
    if (!audio.paused) audio.pause();
    else if (audio.getAttribute('src') === null || audio.error) void play(index);
    else void audio.play().catch(() => {});
  };

  const showState = () => {
    toggle.replaceChildren(icon(audio.paused ? 'resume' : 'pause'));
    toggle.title = toggle.ariaLabel = audio.paused ? previewText('play') : previewText('pause');
  };

  const showTime = () => {
    const { currentTime, duration } = audio;
    times.textContent = position.ariaValueText = `${clockText(currentTime)} / ${clockText(duration)}`;
    position.max = String(Number.isFinite(duration) ? duration : 0);
    position.value = String(currentTime);
  };

  const end = (takesFocus: boolean) => {
    player = undefined;
    isOver = true;
    audio.pause();
    // With a source, the browser would continue to load the file.
    audio.removeAttribute('src');
    bar.remove();
    delete document.documentElement.dataset.player;
    const row = shownRows().find((candidate) => rowName(candidate) === tracks[index]?.name);
    if (row && takesFocus) focusRow(row);
  };

  const button = (label: string, iconName: IconName, action: () => void) => {
    const made = iconButton(label, iconName, action);
    made.title = label;
    return made;
  };

  const audio = make('audio');
  const name = make('bdi');
  const place = make('span.hint');
  const before = button(previewText('previous'), 'left', () => go(-1));
  const toggle = button(previewText('play'), 'resume', toggleSound);
  const after = button(previewText('next'), 'right', () => go(1));
  const position = make('input', { type: 'range', min: '0', max: '0', value: '0', ariaLabel: previewText('position') });
  const times = make('span.hint.times');
  const bar = make(
    'section.player',
    { attributes: { 'aria-label': previewText('player') } },
    make('span.controls', before, toggle, after),
    make('p.title', { role: 'status' }, name, ' ', place),
    position,
    times,
    button(text('close'), 'close', () => end(true)),
  );
  for (const type of ['play', 'pause', 'ended'] as const) audio.addEventListener(type, showState);
  for (const type of ['timeupdate', 'durationchange', 'seeked'] as const) audio.addEventListener(type, showTime);
  audio.addEventListener('ended', () => go(1));
  audio.addEventListener('error', () => skip(previewText('brokenSound', { name: nameInText(tracks[index]?.name ?? '') })));
  position.addEventListener('input', () => {
    audio.currentTime = Number(position.value);
  });
  // Handle the media keys of keyboards and headsets, and the buttons on the lock screen of phones.
  navigator.mediaSession?.setActionHandler('previoustrack', () => go(-1));
  navigator.mediaSession?.setActionHandler('nexttrack', () => go(1));
  document.body.append(bar);
  document.documentElement.dataset.player = '';

  const start = (chosen: readonly Track[], first: number) => {
    tracks = chosen;
    void play(first);
  };
  return { start };
}
