import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileIconClasses } from '../../src/lib/media-types.ts';

test('icons distinguish kinds of files, also of files with a preview', () => {
  const cases = [
    ['letter.docx', 'document'],
    ['letter.odt', 'document'],
    ['notes.rtf', 'document'],
    ['Budget.XLSX', 'sheet'],
    ['budget.ods', 'sheet'],
    ['table.csv', 'text sheet'],
    ['talk.pptx', 'slides'],
    ['talk.key', 'slides'],
    ['page.html', 'text code'],
    ['feed.xml', 'text code'],
    ['data.json', 'text code'],
    ['a.tar.gz', 'archive'],
    ['a.7z', 'archive'],
    ['a.jar', 'zip archive'],
    ['a.ZIP', 'zip archive'],
    ['book.epub', 'zip document'],
    ['a.deb', 'archive'],
    ['photo.jpg', 'image'],
    ['drawing.svg', 'picture'],
    ['song.mp3', 'audio'],
    ['film.mp4', 'video'],
    ['paper.pdf', 'pdf'],
    ['plain.txt', 'text'],
    ['settings.ini', 'text code'],
    ['unknown.xyz', 'file'],
    ['starzip', 'file'],
  ] as const;
  for (const [name, look] of cases) assert.equal(fileIconClasses(name), look, name);
});
